# SPDX-License-Identifier: Apache-2.0
"""Models with random weights, to be profiled as they are: models.py NAME train|infer [STEPS]. Needs a GPU, and what the model is of."""
import sys

import torch


def vision(name, batch, size=224):
    import torchvision
    return getattr(torchvision.models, name)(), (torch.randn(batch, 3, size, size, device="cuda"),), lambda out: out


def language(kind, batch, tokens):
    import transformers as text
    model = {"gpt2": lambda: text.GPT2LMHeadModel(text.GPT2Config(n_layer=6)), "bert": lambda: text.BertModel(text.BertConfig(num_hidden_layers=6)),
             "llama": lambda: text.LlamaForCausalLM(text.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16))}[kind]()
    return model.to(torch.bfloat16), (torch.randint(0, 30000, (batch, tokens), device="cuda"),), lambda out: out.last_hidden_state if kind == "bert" else out.logits


class Convolution(torch.nn.Module):
    """Of a graph, as torch_geometric's GCNConv computes it: a product, and a sum over edges."""

    def __init__(self, columns_in, columns_out):
        super().__init__()
        self.linear = torch.nn.Linear(columns_in, columns_out)

    def forward(self, x, edges, weight):
        x = self.linear(x)
        return torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]] * weight[:, None])


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Convolution(128, 256), Convolution(256, 40)

    def forward(self, x, edges, weight):
        return self.second(torch.relu(self.first(x, edges, weight)), edges, weight)


def graph():
    nodes, edges = 170_000, 1_200_000
    return Network(), (torch.randn(nodes, 128, device="cuda"), torch.randint(0, nodes, (2, edges), device="cuda"), torch.rand(edges, device="cuda")), lambda out: out


MODELS = {
    "resnet18": lambda: vision("resnet18", 64), "resnet50": lambda: vision("resnet50", 32), "convnext_tiny": lambda: vision("convnext_tiny", 32),
    "vit_b_16": lambda: vision("vit_b_16", 16), "mobilenet_v3_small": lambda: vision("mobilenet_v3_small", 64),
    "efficientnet_b0": lambda: vision("efficientnet_b0", 32), "gpt2": lambda: language("gpt2", 8, 512), "bert": lambda: language("bert", 16, 256),
    "llama": lambda: language("llama", 4, 256), "gcn": graph,
}


def main():
    name, mode = sys.argv[1:3]
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    model, inputs, output = MODELS[name]()
    model = model.cuda()
    if mode == "train":
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            output(model(*inputs)).float().square().mean().backward()
            optimizer.step()
    else:
        model.eval()
        with torch.inference_mode():
            for _ in range(steps):
                output(model(*inputs))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
