// The controller-runtime program that the benchmarks measure: one controller for one custom kind, in one of four modes.
//
//	sync     fill the cache, reconcile nothing
//	noop     reconcile every object once, reading it from the cache
//	write    reconcile every object once, writing its status
//	latency  tell how long after its write an object is reconciled
//
// It prints one JSON object per line: {"event": "synced" | "done" | "latency", ...}, and stays until it is told to end.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var groupVersion = schema.GroupVersion{Group: "bench.kapstan.dev", Version: "v1"}

type ItemSpec struct {
	Payload  []string          `json:"payload,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	Size     int32             `json:"size,omitempty"`
}

type ItemStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	Size               int32 `json:"size,omitempty"`
}

type Item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ItemSpec   `json:"spec,omitempty"`
	Status            ItemStatus `json:"status,omitempty"`
}

type ItemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Item `json:"items"`
}

func (in *Item) DeepCopyObject() runtime.Object {
	out := &Item{TypeMeta: in.TypeMeta, Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Size = in.Spec.Size
	out.Spec.Payload = append([]string(nil), in.Spec.Payload...)
	if in.Spec.Settings != nil {
		out.Spec.Settings = make(map[string]string, len(in.Spec.Settings))
		for key, value := range in.Spec.Settings {
			out.Spec.Settings[key] = value
		}
	}
	return out
}

func (in *ItemList) DeepCopyObject() runtime.Object {
	out := &ItemList{TypeMeta: in.TypeMeta, ListMeta: in.ListMeta}
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Item))
	}
	return out
}

type reconciler struct {
	client.Client
	mode  string
	total int64
	count atomic.Int64
	first atomic.Int64
	cpu   float64

	mutex   sync.Mutex
	samples []float64
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if r.mode != "write" {
		r.begin()
	}
	item := &Item{}
	if err := r.Get(ctx, request.NamespacedName, item); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch r.mode {
	case "write":
		if item.Status.ObservedGeneration == item.Generation {
			return ctrl.Result{}, nil // written before
		}
		r.begin()
		patch := client.MergeFrom(item.DeepCopyObject().(*Item))
		item.Status = ItemStatus{ObservedGeneration: item.Generation, Size: item.Spec.Size}
		if err := r.Status().Patch(ctx, item, patch); err != nil {
			return ctrl.Result{}, err
		}
	case "latency":
		r.sample(item)
		return ctrl.Result{}, nil
	}
	if done := r.count.Add(1); done == r.total {
		seconds := float64(time.Now().UnixNano()-r.first.Load()) / 1e9
		say(map[string]any{"event": "done", "reconciles": done, "seconds": seconds, "cpu": cpuSeconds() - r.cpu})
	}
	return ctrl.Result{}, nil
}

// begin notes when the work began, once.
func (r *reconciler) begin() {
	if r.first.CompareAndSwap(0, time.Now().UnixNano()) {
		r.cpu = cpuSeconds()
	}
}

// sample compares the writer's clock with ours: both are the machine's monotonic one.
func (r *reconciler) sample(item *Item) {
	sent, err := strconv.ParseInt(item.Annotations["bench.kapstan.dev/sent"], 10, 64)
	if err != nil {
		return
	}
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.samples = append(r.samples, float64(now.Nano()-sent)/1e6)
	if int64(len(r.samples)) == r.total {
		sort.Float64s(r.samples)
		say(map[string]any{"event": "latency", "p50": r.samples[len(r.samples)/2], "p99": r.samples[len(r.samples)*99/100]})
	}
}

// cpuSeconds is what all threads have used so far.
func cpuSeconds() float64 {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func say(event map[string]any) {
	line, _ := json.Marshal(event)
	fmt.Println(string(line))
}

func main() {
	mode := flag.String("mode", "sync", "sync, noop, write or latency")
	total := flag.Int64("total", 0, "how many reconciles to expect")
	workers := flag.Int("workers", 1, "concurrent reconciles")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(*mode, *total, *workers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(mode string, total int64, workers int) error {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Item{}, &ItemList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	started := time.Now()
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	if mode == "sync" {
		if _, err := manager.GetCache().GetInformer(context.Background(), &Item{}, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	} else {
		r := &reconciler{Client: manager.GetClient(), mode: mode, total: total}
		err := ctrl.NewControllerManagedBy(manager).For(&Item{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(r)
		if err != nil {
			return err
		}
	}
	ctx := ctrl.SetupSignalHandler()
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			say(map[string]any{"event": "synced", "seconds": time.Since(started).Seconds()})
		}
	}()
	return manager.Start(ctx)
}
