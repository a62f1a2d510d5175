// Package fixtures starts embedded servers for the tests of apiextensions-apiserver, in the place of its own package.
package fixtures

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	serveroptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

type skipper interface{ Skip(args ...any) }

func skip(t servertesting.Logger, why string) {
	if s, ok := t.(skipper); ok {
		s.Skip(why)
	}
	panic(why)
}

// start runs the kube-apiserver that KUBEBUILDER_ASSETS has, which is the embedded server.
func start(t servertesting.Logger) (func(), *rest.Config, error) {
	folder, err := os.MkdirTemp("", "kapstan-server-")
	if err != nil {
		return nil, nil, err
	}
	tokens := filepath.Join(folder, "tokens")
	if err := os.WriteFile(tokens, []byte("a-token,admin,1,system:masters\n"), 0o600); err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	command := exec.Command(
		filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"),
		"--secure-port="+port, "--token-auth-file="+tokens, "--disable-admission-plugins=NamespaceLifecycle,ServiceAccount",
	)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		command.Process.Signal(os.Interrupt)
		command.Wait()
		os.RemoveAll(folder)
	}
	config := &rest.Config{
		Host: "https://127.0.0.1:" + port, BearerToken: "a-token", QPS: 1000, Burst: 10000,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		stop()
		return nil, nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err = client.Discovery().RESTClient().Get().AbsPath("/healthz").DoRaw(context.TODO()); err == nil {
			return stop, config, nil
		}
		if time.Now().After(deadline) {
			stop()
			return nil, nil, fmt.Errorf("the server did not answer within a minute: %w", err)
		}
	}
}

func StartDefaultServer(t servertesting.Logger, flags ...string) (func(), *rest.Config, *serveroptions.CustomResourceDefinitionsServerOptions, error) {
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "--watch-cache=") { // which must make no difference
			skip(t, "needs a flag of the Go server: "+flag)
		}
	}
	stop, config, err := start(t)
	return stop, config, nil, err
}

func StartDefaultServerWithConfigAccess(t servertesting.Logger, flags ...string) (func(), *rest.Config, apiserver.CompletedConfig, error) {
	skip(t, "looks into the Go server")
	return nil, nil, apiserver.CompletedConfig{}, nil
}

func StartDefaultServerWithClients(t servertesting.Logger, flags ...string) (func(), clientset.Interface, dynamic.Interface, error) {
	stop, config, _, err := StartDefaultServer(t, flags...)
	if err != nil {
		return nil, nil, nil, err
	}
	crds, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return stop, crds, objects, err
}

func StartDefaultServerWithClientsAndEtcd(t servertesting.Logger, flags ...string) (func(), clientset.Interface, dynamic.Interface, *clientv3.Client, string, error) {
	skip(t, "reads or writes etcd")
	return nil, nil, nil, nil, "", nil
}

func IntegrationEtcdServers() []string { return []string{"http://127.0.0.1:1"} }
