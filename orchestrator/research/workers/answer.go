package workers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/address"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/page"
	"github.com/convene-go/convene/providers"
)

// maxWait is the longest wait that a server may ask for before a retry. With a longer one
// there is no retry.
const maxWait = 2 * time.Minute

// final marks an error that must not be retried.
type final struct{ error }

// Unwrap returns the error and its kind.
func (f final) Unwrap() []error { return []error{f.error, providers.Permanent} }

// answer is what a server sent.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte
}

// caller makes requests under a name.
type caller struct {
	client    *http.Client
	userAgent string
}

// bound limits how much of a body is read, in bytes after decompression.
type bound struct {
	bytes int64
	pdf   int64 // limit of a body that is said to be a PDF; 0: bytes
	cut   bool  // a longer body is cut; else it is an error
}

// ask makes one request. It does not read the body of an answer that is no page, such as
// a redirect. An answer of any status is no error; an error is marked as final or as
// transient.
func (c caller) ask(ctx context.Context, u *url.URL, b bound) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, final{errors.New("it is no address of the web")}
	}
	req.Header.Set("User-Agent", c.userAgent)
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, broken(err)
	}
	defer func() { _ = resp.Body.Close() }() // the rest of it is not needed
	a := &answer{url: u, status: resp.StatusCode, header: resp.Header}
	if a.status != http.StatusOK && a.status != http.StatusBadRequest {
		return a, nil
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, final{fmt.Errorf("its encoding is %.40q, want gzip or none", e)}
	}
	if b.pdf > 0 && page.Kind(resp.Header.Get("Content-Type")) == pdfKind {
		b.bytes = b.pdf
	}
	if resp.ContentLength > b.bytes && !b.cut {
		return nil, b.exceeded()
	}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, b.bytes+1))
	switch {
	case int64(len(a.body)) > b.bytes && !b.cut:
		return nil, b.exceeded()
	case int64(len(a.body)) > b.bytes:
		a.body = a.body[:b.bytes]
	case err != nil:
		return nil, broken(err)
	}
	return a, nil
}

func (b bound) exceeded() error { return final{fmt.Errorf("it is longer than %d bytes", b.bytes)} }

// broken classifies the error of a failed exchange.
func broken(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which the caller knows
	}
	if errors.Is(err, providers.Permanent) {
		return err
	}
	name, unknown := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if errors.Is(err, ErrAddress) || untrusted || unknown && name.IsNotFound {
		return final{err}
	}
	return agent.Transient(err, 0)
}

// refusal is the error for a status other than 200.
func (a *answer) refusal() error {
	err := fmt.Errorf("status %d %s", a.status, http.StatusText(a.status))
	switch {
	case a.status == http.StatusTooManyRequests, a.status == http.StatusRequestTimeout, a.status >= 500:
	default:
		return final{err}
	}
	wait := retryAfter(a.header)
	if wait > maxWait {
		return final{fmt.Errorf("%w, to be asked again in %v", err, wait)}
	}
	return agent.Transient(err, wait)
}

// retryAfter is the wait that a server asks for; 0: none.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// redirect is where the answer leads; nil: it is no redirect.
func (a *answer) redirect() (*url.URL, error) {
	switch a.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to := a.header.Get("Location")
	if to == "" || len(to) > address.MaxURL {
		return nil, final{errors.New("it redirects to no address")}
	}
	next, err := a.url.Parse(to)
	if err != nil {
		return nil, final{errors.New("it redirects to no address")}
	}
	next.Fragment, next.RawFragment = "", ""
	return next, nil
}
