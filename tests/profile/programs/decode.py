# SPDX-License-Identifier: Apache-2.0
"""Work in CUDA graphs, to be profiled as it is: decode.py compiled (torch.compile, reduce-overhead), or decode.py loop (a decode loop of static
shapes, captured once for each batch size, as servers of language models have it). Needs a GPU and PyTorch."""
import sys

import torch

WIDTH, HEADS, LAYERS, TOKENS = 1024, 16, 8, 512


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x, keys, values, place):
        batch = x.shape[0]
        q, k, v = self.qkv(x).view(batch, 3, HEADS, 1, WIDTH // HEADS).unbind(1)
        keys.index_copy_(2, place, k)
        values.index_copy_(2, place, v)
        return self.out(torch.nn.functional.scaled_dot_product_attention(q, keys, values).reshape(batch, WIDTH))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norms = Attention(), torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, keys, values, place):
        x = x + self.attention(self.norms[0](x), keys, values, place)
        return x + self.mlp(self.norms[1](x))


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.head = torch.nn.Embedding(32000, WIDTH), torch.nn.ModuleList(Layer() for _ in range(LAYERS)), torch.nn.Linear(WIDTH, 32000)

    def forward(self, token, cache, place):
        x = self.embed(token)
        for layer, (keys, values) in zip(self.layers, cache):
            x = layer(x, keys, values, place)
        return self.head(x).argmax(-1)


def loop(steps=400):
    model = Decoder().to("cuda", torch.bfloat16).eval()
    graphs = {}
    for batch in (8, 16):
        token, place = torch.zeros(batch, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
        cache = [tuple(torch.zeros(batch, HEADS, TOKENS, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16) for _ in range(2)) for _ in range(LAYERS)]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(token, cache, place)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            token.copy_(model(token, cache, place))
            place.add_(1)
        graphs[batch] = graph, token, place, cache  # a graph keeps no tensor alive that was made before its capture
    for i in range(steps):
        with torch.cuda.nvtx.range("step"):
            graphs[8 if i % 4 else 16][0].replay()
            torch.cuda.synchronize()  # a server sends each token on


def compiled(steps=100):
    model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0) for _ in range(4)]).cuda().bfloat16().eval()
    fast = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(4, 128, 512, device="cuda", dtype=torch.bfloat16)
    for _ in range(steps):
        with torch.cuda.nvtx.range("step"):
            fast(x)
    torch.cuda.synchronize()


if __name__ == "__main__":
    with torch.inference_mode():
        {"loop": loop, "compiled": compiled}[sys.argv[1]]()
