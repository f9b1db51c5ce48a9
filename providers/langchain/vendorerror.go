package langchain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/convene-go/convene/providers"
)

// vendorSays is the error object of an answer, in all dialects met.
type vendorSays struct {
	Message, Type, Code string
}

// UnmarshalJSON takes an object, or a text alone. Codes may be numbers. Google's
// status counts as a type. Anything else is no error.
func (v *vendorSays) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		v.Message = text
		return nil
	}
	var o struct {
		Message any `json:"message"`
		Type    any `json:"type"`
		Code    any `json:"code"`
		Status  any `json:"status"`
	}
	if json.Unmarshal(data, &o) == nil {
		*v = vendorSays{Message: wordOf(o.Message), Type: cmp.Or(wordOf(o.Type), wordOf(o.Status)), Code: wordOf(o.Code)}
	}
	return nil
}

func wordOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
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
	for _, word := range []string{v.Code, v.Type} {
		if n, ok := statuses[word]; ok {
			return n
		}
	}
	if strings.Contains(v.Type+v.Code, "rate_limit") {
		return http.StatusTooManyRequests
	}
	return 0
}

// statuses are the HTTP statuses of errors that come without one, by the vendors'
// words: OpenAI's and Anthropic's, Google's, GLM's.
var statuses = map[string]int{
	"authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
	"invalid_request_error": 400, "request_too_large": 413,
	"api_error": 500, "server_error": 500, "timeout_error": 504, "overloaded_error": 529,

	"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404,
	"RESOURCE_EXHAUSTED": 429, "INTERNAL": 500, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,

	"1000": 401, "1001": 401, "1002": 401, "1003": 401, "1004": 401, "1210": 400, "1211": 404, "1213": 400, "1214": 400,
	"1220": 403, "1234": 500, "1261": 400, "1301": 400,
	"1302": 429, "1303": 429, "1304": 429, "1305": 429, "1308": 429, "1312": 429,
}

// exhausted are GLM's codes for an account that has no money, no plan or no right
// to the model. They come as 429.
var exhausted = map[string]bool{
	"1110": true, "1111": true, "1112": true, "1113": true, "1121": true,
	"1309": true, "1310": true, "1311": true, "1313": true,
}

var (
	// hopeless is what comes as 400 or 429 and passes neither by waiting nor by
	// asking otherwise: no money, or a key that is none. Gemini says "current quota"
	// of every limit, also of one a minute; a limit of 0 is none that passes.
	hopeless = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit|billing_not_active|credit balance|credits are depleted|` +
		`api usage limits|quota.*\blimit: 0(?:[^.\d]|$)|api key not valid|api key expired|location is not supported`)

	tooLong = regexp.MustCompile(`(?i)context_length_exceeded|maximum context length|prompt is too long|input is too long|` +
		`exceeds? (?:the )?(?:maximum|max|available context|context|model's context)|exceed_context_size|` +
		`request_too_large|request too large|too many (?:input )?tokens`)
)

// fill sets e's kind by status, 0 if there is none, and by what v says.
func (v vendorSays) fill(e *providers.Error, status int) {
	all := beginning(v.Type + " " + v.Code + " " + v.Message)
	e.Message = v.Message
	if e.Message == "" {
		e.Message = strings.TrimSpace(v.Type + " " + v.Code)
	}
	refused := status >= 400 && status < 500
	final := exhausted[v.Code] || hopeless.MatchString(all)
	e.TooLong = status == http.StatusRequestEntityTooLarge || refused && (v.Code == "1261" || tooLong.MatchString(all))
	if e.Kind = kindOf(status); final && (refused || status == 0) {
		e.Kind = providers.Permanent
	}
}

func kindOf(status int) providers.Kind {
	const glmForbidden = 434
	switch status {
	case http.StatusTooManyRequests:
		return providers.RateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return providers.Transient
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, glmForbidden:
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
