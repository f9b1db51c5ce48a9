package workers

import (
	"net"
	"net/http"
	"time"
)

// maxHeader is how long the header of an answer may be, in bytes.
const maxHeader = 256 << 10

// guarded returns a copy of c that connects only to what a allows, and a function that
// closes its idle connections. nil is a client of the package's own. The caller handles
// redirects.
//
// A transport that is not an *http.Transport is not restricted.
func (a Access) guarded(c *http.Client) (client *http.Client, end func()) {
	client = &http.Client{}
	if c != nil {
		*client = *c
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var t *http.Transport
	switch base := client.Transport.(type) {
	case nil:
		t = plainTransport()
	case *http.Transport:
		t = base.Clone()
	default:
		return client, func() {}
	}
	t.Proxy, t.DialTLSContext = nil, nil // they would bypass the guard
	t.Dial, t.DialTLS = nil, nil         //nolint:staticcheck // transports that set them bypass the guard
	t.DialContext = (&net.Dialer{Control: a.rules().Control}).DialContext
	t.Protocols, t.TLSNextProto = http1(), nil
	t.DisableCompression = false
	t.MaxResponseHeaderBytes = maxHeader
	client.Transport = t
	return client, t.CloseIdleConnections
}

// plainTransport uses no proxy, which would come from the environment.
func plainTransport() *http.Transport {
	return &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second, Protocols: http1(), MaxResponseHeaderBytes: maxHeader,
	}
}

func http1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}
