package bedrock

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/network"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 8 << 10

// vendorError is a failure in the vendor's words.
type vendorError struct {
	code    string // such as ThrottlingException; "": not said
	message string
}

func (v vendorError) Error() string { return cmp.Or(v.message, v.code, "an error that says nothing") }

// readRefusal reads the answer of a request that failed.
func readRefusal(ex *exchange) error {
	body, _ := io.ReadAll(io.LimitReader(ex.body, maxErrorBody)) // the status says enough
	e := readVendorError(body)
	if code, _, _ := strings.Cut(ex.header.Get("X-Amzn-Errortype"), ":"); code != "" {
		e.code = code
	}
	return e
}

// readVendorError reads the body of an error: an object with a message, with an
// error in it, or any text.
func readVendorError(body []byte) vendorError {
	var in struct {
		Type    string `json:"__type"`
		Message string // or with a small letter
		Error   *claudeError
	}
	if json.Unmarshal(body, &in) != nil {
		return vendorError{message: string(body)}
	}
	if in.Error != nil {
		return vendorError{in.Error.Type, in.Error.Message}
	}
	return vendorError{in.Type[strings.LastIndex(in.Type, "#")+1:], in.Message}
}

// classify says what err means. The caller's own ctx is asked first.
func (m *model) classify(ctx, attempt context.Context, ex *exchange, r *reply, err error) *providers.Error {
	e := &providers.Error{Status: ex.status, Usage: r.usage, Message: err.Error(), Err: err}
	var said vendorError
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Message = providers.Canceled, ctx.Err().Error()
		e.Err = errors.Join(ctx.Err(), context.Cause(ctx), err)
	case errors.Is(err, errCallback):
		e.Kind, e.Message = providers.Canceled, errCallback.Error()
	case errors.As(err, &said):
		said.fill(e)
		e.RetryAfter = waitOf(e.Kind, ex.header)
	case attempt.Err() != nil:
		e.Kind, e.Message = providers.Transient, fmt.Sprintf("no answer within %v", m.timeout)
		e.Err = errors.Join(attempt.Err(), err)
	case errors.Is(err, network.ErrBlocked), errors.Is(err, errTooBig), errors.As(err, new(*tls.CertificateVerificationError)):
		e.Kind = providers.Permanent
	case ex.sent: // the network, or an answer that cannot be used
		e.Kind = providers.Transient
	case !errors.Is(err, errCredentials): // a request that cannot be written
		e.Kind = providers.Invalid
	case errors.As(err, new(net.Error)):
		e.Kind = providers.Transient
	default:
		e.Kind = providers.Permanent
	}
	return e
}

// kinds say what the errors mean that AWS and Anthropic name, where the status does
// not tell: some come as 400 too, and in a stream they have none. What is not here
// is Transient then.
var kinds = map[string]providers.Kind{
	"ThrottlingException":      providers.RateLimited,
	"TooManyRequestsException": providers.RateLimited,
	"rate_limit_error":         providers.RateLimited,

	"AccessDeniedException":         providers.Permanent,
	"ExpiredTokenException":         providers.Permanent,
	"InvalidSignatureException":     providers.Permanent,
	"ResourceNotFoundException":     providers.Permanent,
	"ServiceQuotaExceededException": providers.Permanent,
	"UnrecognizedClientException":   providers.Permanent,
	"authentication_error":          providers.Permanent,
	"billing_error":                 providers.Permanent,
	"not_found_error":               providers.Permanent,
	"permission_error":              providers.Permanent,

	"ValidationException":   providers.Invalid,
	"invalid_request_error": providers.Invalid,
	"request_too_large":     providers.Invalid,
}

var (
	tooLong = regexp.MustCompile(`(?i)too long|too many input tokens|context (?:length|limit|window)|maximum context`)

	// useless is said of a model, as if the request were at fault.
	useless = regexp.MustCompile(`(?i)model identifier is invalid|on-demand throughput|access to the model|end of (?:its|their) life`)
)

// fill sets e's kind by what v says, or by the status.
func (v vendorError) fill(e *providers.Error) {
	page := strings.HasPrefix(strings.TrimSpace(v.message), "<") // of a proxy: it tells people, not us
	switch {
	case e.Status >= 300 && e.Status < 400:
		e.Message = "redirects are not followed"
	case page || v.message == "":
		e.Message = cmp.Or(v.code, http.StatusText(e.Status), "an error that says nothing")
	}
	known := false
	if code := v.code; code != "" { // in streams with a small letter
		e.Kind, known = kinds[strings.ToUpper(code[:1])+code[1:]]
		if !known {
			e.Kind, known = kinds[code]
		}
	}
	if !known {
		e.Kind = kindOf(e.Status)
	}
	if e.Kind == providers.Invalid && useless.MatchString(v.message) {
		e.Kind = providers.Permanent
	}
	e.TooLong = e.Kind == providers.Invalid && (e.Status == http.StatusRequestEntityTooLarge || tooLong.MatchString(v.message))
}

func kindOf(status int) providers.Kind {
	switch status {
	case http.StatusTooManyRequests:
		return providers.RateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusFailedDependency, http.StatusTooEarly:
		return providers.Transient
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
		return providers.Permanent
	}
	switch {
	case status < 300, status >= 500: // in an answer, or a stream of it
		return providers.Transient
	case status < 400: // a redirect
		return providers.Permanent
	}
	return providers.Invalid
}

// maxRetryAfter is the longest wait that is believed.
const maxRetryAfter = 24 * time.Hour

// waitOf returns how long the vendor wants to be left alone, by Retry-After as
// seconds or a date. It is 0 if it does not say, or if waiting does not help.
func waitOf(kind providers.Kind, h http.Header) time.Duration {
	if kind != providers.RateLimited && kind != providers.Transient {
		return 0
	}
	text := h.Get("Retry-After")
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 { // NaN is not
		return time.Duration(min(f*float64(time.Second), float64(maxRetryAfter)))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the same clock
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
