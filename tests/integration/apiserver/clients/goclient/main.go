// Go clients for the tests of the embedded API server.
//
//	goclient typed NAMESPACE     what client-go's typed clients get, one JSON object a line
//	goclient manager NAMESPACE   a controller-runtime manager with leader election, for the kind Site
//
// Typed clients send protobuf and ask for it, as every Go program does by default.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: goclient typed|manager NAMESPACE")
		os.Exit(2)
	}
	run := map[string]func(string) error{"typed": typed, "manager": manage}[os.Args[1]]
	if err := run(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// say prints one thing that happened.
func say(what string, result any) {
	line, _ := json.Marshal(map[string]any{"what": what, "result": result})
	fmt.Println(string(line))
}
