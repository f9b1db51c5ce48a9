// Package robots reads robots.txt (RFC 9309).
package robots

import (
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// Product is the name at the beginning of a User-Agent.
func Product(userAgent string) string {
	rest := strings.TrimLeft(userAgent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
	return userAgent[:len(userAgent)-len(rest)]
}

// Allow reports whether a robots.txt lets a product read an address. A text at which the
// parser panics allows nothing.
func Allow(text, product, address string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return grobotstxt.AgentAllowed(text, product, address)
}
