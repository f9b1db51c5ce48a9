package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/providers/internal/redact"
)

// HTTP is a server with MCP's streamable HTTP. Printing one shows no key.
type HTTP struct {
	// URL is the server's endpoint, often with the path /mcp. Required.
	URL string

	// Header is sent with every request to the URL's host, and to no other, such as
	// an Authorization.
	Header http.Header

	// Client carries the requests. Its Timeout, if it has one, is for whole answers, so
	// also for the longest tool call. Nil: one that limits only the time for connecting,
	// follows redirects only on the URL's host and uses no proxy.
	Client *http.Client
}

// Dial does not connect yet.
func (h HTTP) Dial(context.Context) (sdk.Transport, error) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("HTTP.URL is not an absolute http or https URL")
	}
	client := http.Client{CheckRedirect: stay}
	if h.Client != nil {
		client = *h.Client
	}
	client.Transport = &transport{base: client.Transport, origin: origin(u), header: h.Header.Clone()}
	return &sdk.StreamableClientTransport{
		Endpoint: h.URL, HTTPClient: &client, MaxEventSize: MaxMessage,
		DisableStandaloneSSE: true, // messages outside of calls are not requested
	}, nil
}

// String names the host.
func (h HTTP) String() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "mcp.HTTP"
	}
	return "mcp.HTTP " + origin(u)
}

// GoString is String, for %#v.
func (h HTTP) GoString() string { return h.String() }

func (h HTTP) redactor() redact.Redactor {
	var secrets []string
	for _, values := range h.Header {
		for _, v := range values {
			secrets = append(secrets, v)
			secrets = append(secrets, strings.Fields(v)...) // the token behind "Bearer"
		}
	}
	if u, err := url.Parse(h.URL); err == nil {
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
		if password, ok := u.User.Password(); ok {
			secrets = append(secrets, password)
		}
	}
	return redact.New(secrets...)
}

// stay refuses redirects to another host: they would carry conversations there.
func stay(r *http.Request, via []*http.Request) error {
	switch {
	case origin(r.URL) != origin(via[0].URL):
		return errors.New("the server redirects to another host")
	case len(via) > 5:
		return errors.New("the server redirects more than 5 times")
	}
	return nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// shared has no proxy, which would come from the environment.
var shared http.RoundTripper = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
	MaxIdleConnsPerHost: 16,
	IdleConnTimeout:     90 * time.Second,
}

// transport adds headers, and bounds what is read.
type transport struct {
	base   http.RoundTripper // nil: shared
	origin string
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if origin(r.URL) == t.origin && len(t.header) > 0 {
		r = r.Clone(r.Context())
		for name, values := range t.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	base := t.base
	if base == nil {
		base = shared
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // its events are bounded each
		resp.Body = &bounded{resp.Body, MaxMessage}
	}
	return resp, nil
}

// bounded fails after so many bytes.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", MaxMessage)
	}
	return n, err
}
