package langchain

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/network"
)

// errVendor is an error that the vendor reports in an answer with status 200.
var errVendor = errors.New("the vendor reports an error")

// classify says what err means. The caller's own ctx is asked first, then what
// the transport saw; langchaingo's err comes last, since it hides both.
func (m *model) classify(ctx, attempt context.Context, ex *exchange, err error) *providers.Error {
	cause := err
	if ex.err != nil {
		cause = ex.err
	}
	e := &providers.Error{Status: ex.status, Usage: ex.wire.usage, Message: cause.Error(), Err: cause}
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message = providers.Canceled, ctx.Err().Error()
		e.Err = errors.Join(ctx.Err(), context.Cause(ctx), cause)
	case errors.Is(cause, errCallback):
		e.Kind, e.Message = providers.Canceled, errCallback.Error()
	case ex.status != 0 && !ex.ok():
		refused(e, ex)
	case attempt.Err() != nil:
		e.Kind, e.Message = providers.Transient, fmt.Sprintf("no answer within %v", m.timeout)
		e.Err = errors.Join(attempt.Err(), cause)
	case errors.Is(cause, errTooBig), errors.Is(cause, network.ErrBlocked), errors.As(cause, new(*tls.CertificateVerificationError)):
		e.Kind = providers.Permanent
	case errors.Is(cause, errVendor), ex.wire.fault.present():
		ex.wire.fault.fill(e, ex.wire.fault.status())
		e.RetryAfter = waitOf(e.Kind, ex)
	case !ex.sent: // langchaingo would not even send it
		e.Kind = providers.Invalid
	default: // the network, or an answer that cannot be used
		e.Kind = providers.Transient
	}
	return e
}

// refused fills in e for an answer with an error's status.
func refused(e *providers.Error, ex *exchange) {
	says := readVendorError(ex.body)
	says.Message = withoutPrompt(says.Message, ex.req) // whose words mean nothing here
	says.fill(e, ex.status)
	e.RetryAfter = waitOf(e.Kind, ex)
	page := strings.HasPrefix(strings.TrimSpace(e.Message), "<") // of a proxy: it tells people, not us
	switch {
	case ex.status < 400:
		e.Message = "redirects are not followed"
	case page || e.Message == "":
		e.Message = http.StatusText(ex.status)
	}
}

// waitOf returns how long to wait, if waiting helps.
func waitOf(kind providers.Kind, ex *exchange) time.Duration {
	if kind != providers.RateLimited && kind != providers.Transient {
		return 0
	}
	return retryAfter(ex.header, beginning(ex.body), time.Now())
}
