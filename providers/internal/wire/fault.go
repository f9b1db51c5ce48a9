package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/network"
	"github.com/convene-go/convene/providers/internal/redact"
)

// classify returns the error of a call. It checks the caller's ctx first, then the vendor's
// message, then the transport.
func (m *Model) classify(ctx, attempt context.Context, ex *exchange, err error) *providers.Error {
	e := &providers.Error{Status: ex.status, Usage: ex.charged(err), Message: err.Error(), Err: err}
	var said *Said
	var silent silentError
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message = providers.Canceled, ctx.Err().Error()
		e.Err = errors.Join(ctx.Err(), context.Cause(ctx), err)
	case errors.Is(err, errCallback):
		e.Kind, e.Message = providers.Canceled, errCallback.Error()
	case errors.As(err, &said):
		said.Message = withoutPrompt(said.Message, ex.req) // its words must not classify the error
		said.fill(e)
		e.RetryAfter = waitOf(e.Kind, ex.header, said)
		ex.addPath(e, said)
	case attempt.Err() != nil && errors.As(context.Cause(attempt), &silent) && silent.limit == First:
		outOfTime(attempt, e, "no answer within "+First.String(), err)
	case attempt.Err() != nil:
		outOfTime(attempt, e, context.Cause(attempt).Error(), err)
	case errors.Is(err, errTooBig), errors.Is(err, network.ErrBlocked), errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(pageError)):
		e.Kind = providers.Permanent
	case ex.sent: // the network, or an answer that cannot be used
		e.Kind, e.Reason = providers.Transient, providers.Unavailable
	case !errors.Is(err, errSign): // a request that cannot be written
		e.Kind = providers.Invalid
	case errors.As(err, new(net.Error)):
		e.Kind, e.Reason = providers.Transient, providers.Unavailable
	default:
		e.Kind = providers.Permanent
	}
	if ex.streamed && ex.answer.heard > 0 && e.Kind == providers.Transient {
		e.Message += fmt.Sprintf(" (after %d bytes of the answer)", ex.answer.heard)
	}
	return e
}

// addPath names in e what was asked for, where the server does not have it.
func (ex *exchange) addPath(e *providers.Error, said *Said) {
	if e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed {
		return
	}
	e.Message = ex.path() + ": " + e.Message
	if !said.aboutModel() {
		e.Message = short(e.Message) + ": check the base URL"
	}
}

// path names what was asked for, without the host and the query: one path, or two where
// the first was not there.
func (ex *exchange) path() string {
	return strings.Join(slices.Compact(slices.Clone(ex.paths)), " and ")
}

func outOfTime(attempt context.Context, e *providers.Error, message string, err error) {
	e.Kind, e.Reason, e.Message = providers.Transient, providers.Unavailable, message
	e.Err = errors.Join(context.DeadlineExceeded, context.Cause(attempt), err)
}

// fault sets what every error of m has, without secrets and prompts.
func (m *Model) fault(ex *exchange, e *providers.Error) *providers.Error {
	r := m.redactor(ex)
	e.Model = r.Clean(m.spec.String())
	return Fault(r, ex.req, e)
}

// Fault returns e without the secrets that r knows and the prompts of req, also in its
// cause.
func Fault(r redact.Redactor, req providers.Request, e *providers.Error) *providers.Error {
	speakable := func(text string) string { return short(r.Clean(beginning(withoutPrompt(text, req)))) }
	e.Message = speakable(e.Message)
	e.Err = causeError{text: speakable(e.Err.Error()), err: e.Err}
	return e
}

// waitOf returns how long to wait, if waiting helps.
func waitOf(kind providers.Kind, h http.Header, said *Said) time.Duration {
	if kind != providers.RateLimited && kind != providers.Transient {
		return 0
	}
	body := said.body
	if body == nil { // in an answer, or a stream of it
		body = beginning([]byte(said.Message))
	}
	return retryAfter(h, body, time.Now())
}

// page says whether a message is an HTML page of a proxy, which is for people.
func page(message string) bool { return strings.HasPrefix(strings.TrimSpace(message), "<") }
