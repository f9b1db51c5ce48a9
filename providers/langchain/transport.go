package langchain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/convene-go/convene/providers/internal/network"
)

// sharedTransport has no proxy, which would come from the environment.
var sharedTransport http.RoundTripper = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
	MaxIdleConns:        256,
	MaxIdleConnsPerHost: 64,
	IdleConnTimeout:     90 * time.Second,
}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 8 << 10

var (
	errTooBig   = errors.New("the answer is longer than the limit")
	errCallback = errors.New("OnText ended the call")
)

// transport sits under langchaingo's client. It reads the whole answer before the
// client sees any of it.
type transport struct {
	base      http.RoundTripper
	maxBody   int64
	authorize bool
}

// RoundTrip sends the request as the exchange in its context wants it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ex, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request that is not ours")
	}
	resp, err := t.send(ex, r)
	if err != nil {
		ex.err = err
		return nil, err
	}
	return resp, nil
}

// send sends the request, and again without what the vendor refuses to take.
func (t *transport) send(ex *exchange, r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	for {
		resp, err := t.sendOnce(ex, r, data)
		if err != nil || !ex.concede() {
			return resp, err
		}
	}
}

func (t *transport) sendOnce(ex *exchange, r *http.Request, data []byte) (*http.Response, error) {
	if err := network.Check(r.URL.Host); err != nil {
		return nil, err
	}
	data, err := patched(ex, data)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(data))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.ContentLength = int64(len(data))
	if !t.authorize {
		out.Header.Del("Authorization")
	}
	ex.reset()
	resp, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	ex.status, ex.header = resp.StatusCode, resp.Header
	err = t.read(ex, resp)
	ex.wire = ex.model.vendor.dialect.read(ex, ex.body)
	if err != nil {
		return nil, err
	}
	plain := ex.body
	if ex.wire.plain != nil && ex.ok() {
		plain = ex.wire.plain
	}
	resp.Body = io.NopCloser(bytes.NewReader(plain))
	return resp, nil
}

// read reads resp's body into ex.
func (t *transport) read(ex *exchange, resp *http.Response) error {
	if !ex.ok() {
		ex.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status says enough
		return nil
	}
	limited := &limitedReader{r: resp.Body, left: t.maxBody}
	var err error
	if ex.streams() && !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		ex.streamed = true
		ex.body, err = readStream(limited, t.maxBody, ex.model.vendor.dialect.stream(), ex.tell)
		return err
	}
	ex.body, err = io.ReadAll(limited)
	return err
}

// limitedReader fails with errTooBig after left bytes, where io.LimitReader would
// pretend that there is no more.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooBig
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1] // one more, to see whether there is more
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, errTooBig
	}
	return n, err
}
