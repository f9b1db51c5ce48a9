package wire

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

// Said is a failure in a vendor's words, in all formats met.
type Said struct { //nolint:errname // it is read as part of an answer, too
	Message, Type, Code, Param string // the vendor's words; "": it says none

	body []byte
}

// Error returns the message, or the type and code.
func (s *Said) Error() string {
	return cmp.Or(s.Message, strings.TrimSpace(s.Type+" "+s.Code), "an error that says nothing")
}

// UnmarshalJSON reads an object, or only a text. Codes may be numbers. Google's status
// counts as a type, as does AWS's __type. Anything else is no error.
func (s *Said) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		s.Message = text
		return nil
	}
	var o struct {
		Message any `json:"message"`
		Type    any `json:"type"`
		Code    any `json:"code"`
		Status  any `json:"status"`
		Param   any `json:"param"`
		AWS     any `json:"__type"`
	}
	if json.Unmarshal(data, &o) == nil {
		aws := wordOf(o.AWS)
		*s = Said{
			Message: wordOf(o.Message), Type: cmp.Or(wordOf(o.Type), wordOf(o.Status)), Param: wordOf(o.Param),
			Code: cmp.Or(wordOf(o.Code), aws[strings.LastIndex(aws, "#")+1:]),
		}
	}
	return nil
}

func wordOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// readSaid reads the answer to a refused request: an object with an error in it, such an
// object in a list, an error alone, or any text.
func readSaid(body []byte, h http.Header) *Said {
	s := SaidIn(body)
	s.body = body
	if code, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":"); code != "" {
		s.Code = code
	}
	return s
}

// SaidIn reads an error in any of those forms.
func SaidIn(body []byte) *Said {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var in struct{ Error Said }
	if json.Unmarshal(body, &in) == nil && in.Error.Present() {
		return &in.Error
	}
	alone := &Said{}
	if json.Unmarshal(body, alone) == nil {
		return alone
	}
	return &Said{Message: string(body)}
}

// Present says whether there is an error.
func (s *Said) Present() bool { return s.Message != "" || s.Type != "" || s.Code != "" }

// statusOf returns the status of an error. AWS's names are more precise than the status
// they come with; other words count if there is none.
func (s *Said) statusOf(status int) int {
	if n, ok := named[titled(s.Code)]; ok {
		return n
	}
	if status < 200 || status > 299 {
		return status
	}
	if n, err := strconv.Atoi(s.Code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	for _, word := range []string{s.Code, s.Type} {
		if n, ok := statuses[word]; ok {
			return n
		}
	}
	if strings.Contains(s.Type+s.Code, "rate_limit") {
		return http.StatusTooManyRequests
	}
	return 0
}

// titled is a name as it is written outside of streams, which begin it with a small
// letter.
func titled(code string) string {
	if code == "" {
		return ""
	}
	return strings.ToUpper(code[:1]) + code[1:]
}

// named are AWS's errors: in streams they have no status, and some that are no bad
// requests come as 400.
var named = map[string]int{
	"ThrottlingException": 429, "TooManyRequestsException": 429, "ServiceQuotaExceededException": 402,
	"AccessDeniedException": 403, "ExpiredTokenException": 403, "InvalidSignatureException": 403, "UnrecognizedClientException": 403,
	"ResourceNotFoundException": 404, "ValidationException": 400, "ModelNotReadyException": 429,
	"ServiceUnavailableException": 503, "InternalServerException": 500, "ModelTimeoutException": 408,
	"ModelErrorException": 424, "ModelStreamErrorException": 424,
}

// statuses are the HTTP statuses of errors that come without one, by the vendors'
// words: OpenAI's and Anthropic's, Google's, GLM's.
var statuses = map[string]int{
	"authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
	"invalid_request_error": 400, "request_too_large": 413, "invalid_prompt": 400,
	"api_error": 500, "server_error": 500, "timeout_error": 504, "overloaded_error": 529,
	"context_length_exceeded": 400, "string_above_max_length": 400, "invalid_api_key": 401, "model_not_found": 404,
	"server_is_overloaded": 503, "slow_down": 503, "overloaded": 503,

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
	// spent matches what comes as 400 or 429 although waiting does not help: no money.
	// Gemini says "current quota" for every limit, also of one minute; a limit of 0
	// never passes.
	spent = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit|billing_not_active|credit balance|credits are depleted|` +
		`insufficient balance|api usage limits|quota.*\blimit: 0(?:[^.\d]|$)|ServiceQuotaExceeded`)

	// locked matches what comes as 400 and means an invalid key.
	locked = regexp.MustCompile(`(?i)api key not valid|api key expired|location is not supported`)

	// absent matches errors about a missing model that blame the request.
	absent = regexp.MustCompile(`(?i)model identifier is invalid|on-demand throughput|access to the model|end of (?:its|their) life|` +
		`model_not_found|DeploymentNotFound|model_decommissioned|(?:model|deployment) .{0,80}(?:not found|does not exist|not available|has been deprecated|is decommissioned)|no such model|unknown model`)

	modelWord = regexp.MustCompile(`(?i)\b(?:models?|deployments?)\b|model_`)

	filtered = regexp.MustCompile(`(?i)content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy|invalid_prompt`)

	tooLarge = regexp.MustCompile(`(?i)request_too_large|request too large`) // among those that come too fast

	tooLong = regexp.MustCompile(`(?i)context_length_exceeded|maximum context length|prompt is too long|input is too long|too long for requested model|` +
		`exceeds? (?:the )?(?:maximum|max|available context|context|model's context)|exceed_context_size|string_above_max_length|` +
		`request_too_large|request too large|too many (?:input )?tokens`)
)

// fill sets e's kind and reason by its status and by what s says.
func (s *Said) fill(e *providers.Error) {
	all := beginning(s.Type + " " + s.Code + " " + s.Message)
	status := s.statusOf(e.Status)
	refused := status >= 400 && status < 500 || status == 0
	e.Kind, e.Reason = kindOf(status)
	switch {
	case !refused:
	case exhausted[s.Code], spent.MatchString(all):
		e.Kind, e.Reason = providers.Permanent, providers.Quota
	case locked.MatchString(all):
		e.Kind, e.Reason = providers.Permanent, providers.Unauthorized
	case e.Kind == providers.Invalid && absent.MatchString(all):
		e.Kind, e.Reason = providers.Permanent, providers.NotFound
	case e.Kind == providers.Invalid && filtered.MatchString(all):
		e.Reason = providers.Refused
	}
	switch e.Kind { //nolint:exhaustive // of the others none is too long
	case providers.Invalid:
		e.TooLong = status == http.StatusRequestEntityTooLarge || s.Code == "1261" || tooLong.MatchString(all)
	case providers.RateLimited:
		e.TooLong = tooLarge.MatchString(all)
	}
	switch e.Message = s.Error(); {
	case e.Status >= 300 && e.Status < 400:
		e.Message = "redirects are not followed"
	case page(e.Message), s.Message == "" && s.Type+s.Code == "" && e.Status >= 300:
		e.Message = cmp.Or(http.StatusText(e.Status), s.Error())
	}
}

// aboutModel says whether s speaks of a model that is missing, and not of a path.
func (s *Said) aboutModel() bool {
	all := beginning(s.Type + " " + s.Code + " " + s.Message)
	return absent.MatchString(all) || modelWord.MatchString(all)
}

func kindOf(status int) (providers.Kind, providers.Reason) {
	const glmForbidden, anthropicOverloaded = 434, 529
	switch status {
	case http.StatusTooManyRequests:
		return providers.RateLimited, ""
	case http.StatusServiceUnavailable, anthropicOverloaded:
		return providers.Transient, providers.Overloaded
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusFailedDependency, http.StatusTooEarly:
		return providers.Transient, providers.Unavailable
	case http.StatusUnauthorized, http.StatusForbidden, glmForbidden:
		return providers.Permanent, providers.Unauthorized
	case http.StatusPaymentRequired:
		return providers.Permanent, providers.Quota
	case http.StatusNotFound, http.StatusGone:
		return providers.Permanent, providers.NotFound
	}
	switch {
	case status >= 500 || status == 0:
		return providers.Transient, providers.Unavailable
	case status < 400: // a redirect, which is not followed
		return providers.Permanent, ""
	}
	return providers.Invalid, ""
}

// ErrorOf returns the error of a message and a status, 0 if there is none.
func ErrorOf(status int, message string) *providers.Error {
	e := &providers.Error{Status: status}
	(&Said{Message: message}).fill(e)
	return e
}
