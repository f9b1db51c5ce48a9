package providers

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Keys are API keys by provider. However they are printed or encoded, only the
// providers are shown.
type Keys map[string]string

// String names the providers, not the keys.
func (k Keys) String() string {
	return "keys of " + strings.Join(slices.Sorted(maps.Keys(k)), ", ")
}

// GoString is String, for %#v.
func (k Keys) GoString() string { return k.String() }

// Format is String, for every verb.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText is String, for JSON and for logs made of it.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
