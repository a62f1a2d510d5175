// Prints the OpenAPI v3 document that kube-apiserver publishes for one version of a CustomResourceDefinition.
// The definition is read as JSON from standard input; the version is the only argument.
package main

import (
	"encoding/json"
	"log"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
)

func main() {
	var crd apiextensions.CustomResourceDefinition
	if err := json.NewDecoder(os.Stdin).Decode(&crd); err != nil {
		log.Fatalf("standard input is no CustomResourceDefinition: %v", err)
	}
	document, err := builder.BuildOpenAPIV3(&crd, os.Args[1], builder.Options{IncludeSelectableFields: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		log.Fatal(err)
	}
}
