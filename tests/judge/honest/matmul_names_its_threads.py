# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
import threading


def candidate(a, b):
    results = []

    def work():
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as name:
            name.write("multiplies")
        results.append(a @ b)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return results[0]
