package langchain

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
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
	body := readWire(ex.body)
	e := &providers.Error{Status: ex.status, Usage: body.Usage.usage(), Message: cause.Error(), Err: cause}
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message = providers.Canceled, ctx.Err().Error()
		e.Err = errors.Join(ctx.Err(), context.Cause(ctx), cause)
	case errors.Is(cause, errCallback):
		e.Kind, e.Message = providers.Canceled, errCallback.Error()
	case ex.status != 0 && (ex.status < 200 || ex.status > 299):
		refused(e, ex)
	case attempt.Err() != nil:
		e.Kind, e.Message = providers.Transient, fmt.Sprintf("no answer within %v", m.timeout)
		e.Err = errors.Join(attempt.Err(), cause)
	case errors.Is(cause, errTooBig):
		e.Kind = providers.Permanent
	case errors.Is(cause, errVendor), body.Error.present():
		body.Error.fill(e, body.Error.status())
		e.RetryAfter = waitOf(e.Kind, ex)
	case !ex.sent: // langchaingo would not even send it
		e.Kind = providers.Invalid
	case errors.As(cause, new(*tls.CertificateVerificationError)):
		e.Kind = providers.Permanent
	default: // the network, or an answer that cannot be used
		e.Kind = providers.Transient
	}
	return e
}

// refused fills in e for an answer with an error's status.
func refused(e *providers.Error, ex *exchange) {
	readVendorError(ex.body).fill(e, ex.status)
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
	return retryAfter(ex.header, ex.body, time.Now())
}

// vendorSays is the error object of an answer, in all dialects met.
type vendorSays struct {
	Message, Type, Code string
}

// UnmarshalJSON takes an object, or a text alone. Codes may be numbers.
func (v *vendorSays) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		v.Message = text
		return nil
	}
	var o struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	*v = vendorSays{Message: o.Message, Type: o.Type}
	if o.Code != nil {
		v.Code = fmt.Sprint(o.Code)
	}
	return nil
}

// readVendorError reads the body of an error: an object with an error in it, such
// an object in a list, an error alone, or any text.
func readVendorError(body []byte) vendorSays {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var in struct{ Error vendorSays }
	if json.Unmarshal(body, &in) == nil && in.Error.present() {
		return in.Error
	}
	var alone vendorSays
	if json.Unmarshal(body, &alone) == nil {
		return alone
	}
	return vendorSays{Message: string(body)}
}

func (v vendorSays) present() bool { return v != vendorSays{} }

// status returns the status that an error without one stands for, 0 if it does
// not say.
func (v vendorSays) status() int {
	if n, err := strconv.Atoi(v.Code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	switch {
	case strings.Contains(v.Type+v.Code, "rate_limit"):
		return http.StatusTooManyRequests
	case v.Type == "invalid_request_error":
		return http.StatusBadRequest
	}
	return 0
}

var (
	// quota is what comes as 429 and does not pass by waiting.
	quota = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit|billing_not_active|credit balance`)

	tooLong = regexp.MustCompile(`(?i)context_length_exceeded|maximum context length|prompt is too long|input is too long|` +
		`exceeds? the (?:maximum|context|model's context)|exceed_context_size|request_too_large|request too large|too many (?:input )?tokens`)
)

// fill sets e's kind by status, 0 if there is none, and by what v says.
func (v vendorSays) fill(e *providers.Error, status int) {
	all := v.Type + " " + v.Code + " " + v.Message
	e.Message = v.Message
	if e.Message == "" {
		e.Message = strings.TrimSpace(v.Type + " " + v.Code)
	}
	e.TooLong = status == http.StatusRequestEntityTooLarge || status >= 400 && status < 500 && tooLong.MatchString(all)
	switch {
	case quota.MatchString(all):
		e.Kind = providers.Permanent
	default:
		e.Kind = kindOf(status)
	}
}

func kindOf(status int) providers.Kind {
	switch status {
	case http.StatusTooManyRequests:
		return providers.RateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return providers.Transient
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
		return providers.Permanent
	}
	switch {
	case status >= 500 || status == 0:
		return providers.Transient
	case status < 400: // a redirect, which is not followed
		return providers.Permanent
	}
	return providers.Invalid
}
