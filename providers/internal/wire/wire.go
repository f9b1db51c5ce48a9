// Package wire calls models over HTTP. It has what does not depend on a vendor's
// format: the transport, limits on bytes and on silence, errors by kind, texts without
// keys and prompts. A format is a [Talk].
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
)

// Limits of a model without its own.
const (
	MaxBody = 64 << 20         // a stream has some 250 bytes a token
	First   = 10 * time.Minute // silence before the answer begins
	Idle    = time.Minute      // silence once the answer has begun
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

// Options are common to the openers of all vendors.
type Options struct {
	Transport http.RoundTripper // nil: one that all models share, without a proxy
	MaxBody   int64             // bytes of an answer at most; 0: MaxBody
	Header    http.Header       // sent with each request
	Idle      time.Duration     // silence that ends an answer that has begun; 0: Idle
}

// Check returns every fault of o joined into one error, or nil.
func (o Options) Check() error {
	var errs []error
	if o.MaxBody < 0 || o.MaxBody > 1<<30 {
		errs = append(errs, fmt.Errorf("MaxBody is %d, want 0 to 1 GiB", o.MaxBody))
	}
	if o.Idle < 0 {
		errs = append(errs, fmt.Errorf("the field Idle is %v, want 0 or more", o.Idle))
	}
	return errors.Join(errs...)
}

// Model calls one model of one vendor. All fields are set once.
type Model struct {
	options Options
	spec    providers.Spec
	timeout time.Duration // 0: none
	redact  redact.Redactor
	talk    func(providers.Request) (Talk, error)
	sign    Sign
}

// Sign adds the sender's credentials to a request, as the last step. It returns those that
// are secret.
type Sign func(ctx context.Context, r *http.Request, body []byte) (secrets []string, err error)

// Talk is one request in a vendor's format, and the reader of its answer. One goroutine
// uses it.
type Talk interface {
	// Ask returns the URL and the body of the request, and prepares a for the answer. It
	// is called again after each Concede.
	Ask(a *Answer) (url string, body []byte, err error)

	// Whole reads an answer that came in one piece.
	Whole(a *Answer, body []byte) error

	// Event reads one event of an answer, and says whether it was the last one. The
	// data is valid until it returns.
	Event(a *Answer, name string, data []byte) (last bool, err error)

	// Concede handles a refusal and says whether Ask leaves out now what the vendor does
	// not take. If so, the request is repeated, unless Ask returns the same.
	Concede(status int, said *Said) bool
}

// New returns the model of s. Secrets are those that no error may contain beside those
// that sign returns.
func New(s providers.Spec, o Options, sign Sign, talk func(providers.Request) (Talk, error), secrets ...string) *Model {
	if o.Transport == nil {
		o.Transport = sharedTransport
	}
	if o.MaxBody == 0 {
		o.MaxBody = MaxBody
	}
	if o.Idle == 0 {
		o.Idle = Idle
	}
	m := &Model{options: o, spec: s, redact: redact.New(secrets...), talk: talk, sign: sign}
	if s.Timeout != "" {
		m.timeout, _ = time.ParseDuration(s.Timeout) // Validate has seen it
	}
	return m
}

// Clean implements [providers.Cleaner].
func (m *Model) Clean(text string) string { return m.redact.Clean(text) }

// String returns only the model's name.
func (m *Model) String() string { return m.redact.Clean(m.spec.String()) }

// Format is String, for every verb.
func (m *Model) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, m.String()) }
