// Package controllergen holds Go twins of the Python types of the test zoo.
//
// controller-gen turns them into a CRD, which the tests compare with what kapstan generates for the Python types.
package main

import _ "kapstan.dev/oracles/controllergen/zoo/v1"

func main() {}
