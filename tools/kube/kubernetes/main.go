// One binary for the Kubernetes components, in the manner of busybox: the name it is called by, or else its first
// argument, selects the component. The components share nearly all of their code, so one program is a third of the
// size of six and links once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs, on machines that have no zone files

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl: exec and OIDC credentials
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func(){
	"kube-apiserver":          func() { serve(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { serve(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() { serve(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { serve(kubelet.NewKubeletCommand(context.Background())) },
	"kubeadm":                 func() { kubeadmerrors.HandleError(kubeadm.Run()) },
	"kubectl":                 runKubectl,
}

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:] // the component then sees the arguments that it would see under its own name
			run()
			return
		}
	}
	fmt.Fprintf(os.Stderr, "Call this program by the name of a component, or give the name first: %s\n", names())
	os.Exit(2)
}

func serve(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func runKubectl() {
	// kubectl logs while it builds its commands, before flags are parsed: the verbosity has to be known by then.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func names() string {
	known := make([]string, 0, len(components))
	for name := range components {
		known = append(known, name)
	}
	slices.Sort(known)
	return strings.Join(known, ", ")
}
