"""The kopf program that the benchmarks measure: the same modes and the same lines as the controller-runtime one.

kopf has no cache to fill: an object counts as synced when its handler has seen it. It has a worker for each object,
without limit, as is its default: with a limit, each worker first waits for more news of its object.
"""

import argparse
import asyncio
import json
import time

import kopf

GROUP, VERSION, PLURAL = "bench.kapstan.dev", "v1", "items"

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="sync")
parser.add_argument("--total", type=int, default=0)
parser.add_argument("--workers", type=int, default=1)
options = parser.parse_args()

started = time.monotonic()
first = 0.0
cpu = 0.0
count = 0
seen = 0
written: set[str] = set()
samples: list[float] = []


def say(**event):
    print(json.dumps(event), flush=True)


@kopf.on.startup()
async def configure(settings, **_):
    settings.posting.enabled = False
    settings.persistence.finalizer = f"{GROUP}/none"


@kopf.on.event(GROUP, VERSION, PLURAL)
async def on_item(body, meta, name, spec, patch, **_):
    global seen
    seen += 1
    if options.mode == "sync":
        if seen == options.total:
            say(event="synced", seconds=time.monotonic() - started)
        return
    if options.mode == "latency":
        sample(meta)
        return
    if options.mode == "write":
        if body.get("status", {}).get("observedGeneration") == meta["generation"]:
            if name in written:  # not before this program came
                finished()
            return
        begin()
        written.add(name)
        patch.status["observedGeneration"] = meta["generation"]
        patch.status["size"] = spec["size"]
        return
    begin()
    finished()


def begin():
    global first, cpu
    if not first:
        first, cpu = time.monotonic(), time.process_time()


def finished():
    global count
    count += 1
    if count == options.total:
        say(event="done", reconciles=count, seconds=time.monotonic() - first, cpu=time.process_time() - cpu)


def sample(meta):
    sent = meta.get("annotations", {}).get(f"{GROUP}/sent")
    if sent is None:
        return
    samples.append((time.monotonic_ns() - int(sent)) / 1e6)
    if len(samples) == options.total:
        samples.sort()
        say(event="latency", p50=samples[len(samples) // 2], p99=samples[len(samples) * 99 // 100])


asyncio.run(kopf.operator(clusterwide=True, standalone=True))
