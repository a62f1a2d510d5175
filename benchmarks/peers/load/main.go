// The load that API servers are measured under: the same requests to whichever server the kubeconfig names.
//
//	load -mode create  -count 10000 -workers 16     create ConfigMaps of about 1 kB
//	load -mode update  -count 10000 -workers 16     replace them
//	load -mode apply   -count 5000  -workers 16     server-side apply of one field
//	load -mode list    -count 20                    list all of them
//	load -mode watch   -watchers 200 -count 500     200 watchers hear of 500 updates
//
// It prints one JSON object: {"seconds": ..., "rate": ...}.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const collection = "/api/v1/namespaces/default/configmaps"

type load struct {
	client *http.Client
	url    string
}

func main() {
	mode := flag.String("mode", "create", "create, update, apply, list or watch")
	count := flag.Int("count", 1000, "how many requests")
	workers := flag.Int("workers", 16, "how many at once")
	watchers := flag.Int("watchers", 200, "how many watchers")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	fail(err)
	config.QPS, config.Burst = -1, -1
	client, err := rest.HTTPClientFor(config)
	fail(err)
	l := &load{client: client, url: config.Host}
	start := time.Now()
	done := *count
	switch *mode {
	case "create":
		l.each(*count, *workers, func(i int) { l.send("POST", collection, "application/json", configMap(i, "created")) })
	case "update":
		l.each(*count, *workers, func(i int) {
			l.send("PUT", collection+"/"+name(i), "application/json", configMap(i, fmt.Sprint("updated", time.Now().UnixNano())))
		})
	case "apply":
		l.each(*count, *workers, func(i int) {
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"applied":"%d"}}`, name(i), time.Now().UnixNano())
			l.send("PATCH", collection+"/"+name(i)+"?fieldManager=load&force=true", "application/apply-patch+yaml", []byte(body))
		})
	case "list":
		l.each(*count, 1, func(int) { l.send("GET", collection, "", nil) })
	case "watch":
		start = time.Now()
		done = l.watch(*watchers, *count, &start)
	}
	seconds := time.Since(start).Seconds()
	line, _ := json.Marshal(map[string]float64{"seconds": seconds, "rate": float64(done) / seconds})
	fmt.Println(string(line))
}

func name(i int) string { return fmt.Sprintf("load-%05d", i) }

func configMap(i int, state string) []byte {
	data := map[string]string{"state": state}
	for key := 0; key < 10; key++ {
		data[fmt.Sprintf("key-%d", key)] = strings.Repeat("x", 80)
	}
	body, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": name(i), "namespace": "default", "labels": map[string]string{"load": "true"}},
	})
	return body
}

func (l *load) each(count, workers int, work func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				work(i)
			}
		}()
	}
	group.Wait()
}

func (l *load) send(method, path, contentType string, body []byte) {
	request, err := http.NewRequest(method, l.url+path, bytes.NewReader(body))
	fail(err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("Accept", "application/json")
	response, err := l.client.Do(request)
	fail(err)
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		fail(fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, text))
	}
	_, err = io.Copy(io.Discard, response.Body)
	fail(err)
}

// watch gives how many events arrived in all; the clock starts when every watcher is connected.
func (l *load) watch(watchers, updates int, start *time.Time) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var connected, finished sync.WaitGroup
	for range watchers {
		connected.Add(1)
		finished.Add(1)
		go func() {
			defer finished.Done()
			l.hear(ctx, updates, &connected)
		}()
	}
	connected.Wait()
	*start = time.Now()
	l.each(updates, 4, func(i int) {
		l.send("PUT", collection+"/"+name(i), "application/json", configMap(i, fmt.Sprint("watched", time.Now().UnixNano())))
	})
	finished.Wait()
	return watchers * updates
}

func (l *load) hear(ctx context.Context, updates int, connected *sync.WaitGroup) {
	list, err := l.client.Get(l.url + collection + "?limit=1")
	fail(err)
	var meta struct {
		Metadata struct{ ResourceVersion string }
	}
	fail(json.NewDecoder(list.Body).Decode(&meta))
	list.Body.Close()
	path := collection + "?watch=true&resourceVersion=" + meta.Metadata.ResourceVersion
	request, err := http.NewRequestWithContext(ctx, "GET", l.url+path, nil)
	fail(err)
	request.Header.Set("Accept", "application/json")
	response, err := l.client.Do(request)
	fail(err)
	defer response.Body.Close()
	connected.Done()
	reader := bufio.NewReaderSize(response.Body, 1<<16)
	for heard := 0; heard < updates; heard++ {
		_, err := reader.ReadSlice('\n')
		fail(err)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
