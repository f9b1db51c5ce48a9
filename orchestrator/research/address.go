package research

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
)

// withoutUser returns an address without user and password.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}

// dnsName returns a host without a trailing dot, and as ASCII: as requests carry it.
func dnsName(host string) string {
	host = strings.TrimRight(host, ".")
	if !strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		return host
	}
	var sent bytes.Buffer
	req := http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: host, Path: "/"}}
	if req.Write(&sent) != nil {
		return host
	}
	got, err := http.ReadRequest(bufio.NewReader(&sent))
	if err != nil || got.Host == "" {
		return host
	}
	return got.Host
}

// withoutDots removes the segments "." and ".." of a path.
func withoutDots(path string) string {
	var kept []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "..":
			kept = kept[:max(1, len(kept)-1)]
		case part != ".":
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "/")
}
