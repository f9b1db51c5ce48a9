package failtest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/providers"
)

const markup = "<html><body>bad"

// refusal is a case of a status and a vendor's message.
type refusal struct {
	name    string
	status  int
	word    Word
	message string
	headers []string
	kind    providers.Kind
	reason  providers.Reason
	after   time.Duration
	tooLong bool
	text    string // "": the message
}

var refusals = []refusal{
	{name: "400", status: 400, word: Odd, message: "bad field", kind: providers.Invalid},
	{name: "400 too long", status: 400, word: TooLong, message: "prompt is too long: 240112 tokens > 200000 maximum", kind: providers.Invalid, tooLong: true},
	{name: "400 too long in other words", status: 400, word: TooLong, message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 142900 tokens.", kind: providers.Invalid, tooLong: true},
	{name: "400 too long with the answer", status: 400, word: Odd, message: "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000", kind: providers.Invalid, tooLong: true},
	{name: "400 too long for the model", status: 400, word: Odd, message: "Input is too long for requested model.", kind: providers.Invalid, tooLong: true},
	{name: "400 too many tokens", status: 400, word: Odd, message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", kind: providers.Invalid, tooLong: true},
	{name: "400 no credit", status: 400, word: Odd, message: "Your credit balance is too low to access the API.", kind: providers.Permanent, reason: providers.Quota},
	{name: "400 no key", status: 400, word: Odd, message: "API key not valid. Please pass a valid API key.", kind: providers.Permanent, reason: providers.Unauthorized},
	{name: "400 old key", status: 400, word: Odd, message: "API key expired. Please renew the API key.", kind: providers.Permanent, reason: providers.Unauthorized},
	{name: "400 not here", status: 400, word: Odd, message: "User location is not supported for the API use.", kind: providers.Permanent, reason: providers.Unauthorized},
	{name: "400 no such model", status: 400, word: Odd, message: "The model `m` does not exist or you do not have access to it.", kind: providers.Permanent, reason: providers.NotFound},
	{name: "400 an old model", status: 400, word: Odd, message: "The model `m` has been deprecated.", kind: providers.Permanent, reason: providers.NotFound},
	{name: "400 filtered", status: 400, word: Odd, message: "The response was filtered due to the prompt triggering our content management policy.", kind: providers.Invalid, reason: providers.Refused},
	{name: "400 against the rules", status: 400, word: Odd, message: "Your request was rejected: content_policy_violation.", kind: providers.Invalid, reason: providers.Refused},
	{name: "401 without words", status: 401, message: "no", kind: providers.Permanent, reason: providers.Unauthorized},
	{name: "402", status: 402, word: Spent, message: "pay", kind: providers.Permanent, reason: providers.Quota},
	{name: "403", status: 403, word: Forbidden, message: "not yours", kind: providers.Permanent, reason: providers.Unauthorized},
	{name: "404", status: 404, word: Missing, message: "there is no m", kind: providers.Permanent, reason: providers.NotFound},
	{name: "405", status: 405, message: "not so", kind: providers.Invalid},
	{name: "408", status: 408, message: "slow", kind: providers.Transient, reason: providers.Unavailable},
	{name: "409", status: 409, message: "again", kind: providers.Transient, reason: providers.Unavailable},
	{name: "410", status: 410, message: "it was", kind: providers.Permanent, reason: providers.NotFound},
	{name: "413", status: 413, message: "big", kind: providers.Invalid, tooLong: true},
	{name: "414", status: 414, message: "long", kind: providers.Invalid},
	{name: "415", status: 415, message: "odd media", kind: providers.Invalid},
	{name: "418", status: 418, message: "teapot", kind: providers.Invalid},
	{name: "422", status: 422, message: "odd", kind: providers.Invalid},
	{name: "424", status: 424, message: "the model had an error", kind: providers.Transient, reason: providers.Unavailable},
	{name: "425", status: 425, message: "early", kind: providers.Transient, reason: providers.Unavailable},
	{name: "429 and no more", status: 429, word: Limited, message: "slow down", kind: providers.RateLimited},
	{name: "429 seconds", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After", "7"}, kind: providers.RateLimited, after: 7 * time.Second},
	{name: "429 parts of a second", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After", "1.5"}, kind: providers.RateLimited, after: 1500 * time.Millisecond},
	{name: "429 milliseconds", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After-Ms", "1500", "Retry-After", "2"}, kind: providers.RateLimited, after: 1500 * time.Millisecond},
	{name: "429 date", status: 429, word: Limited, message: "slow down", headers: []string{"Date", "Fri, 02 Jan 2026 03:04:05 GMT", "Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT"}, kind: providers.RateLimited, after: 90 * time.Second},
	{name: "429 date that is over", status: 429, word: Limited, message: "slow down", headers: []string{"Date", "Fri, 02 Jan 2026 03:04:05 GMT", "Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT"}, kind: providers.RateLimited},
	{name: "429 reset", status: 429, word: Limited, message: "slow down", headers: []string{"X-Ratelimit-Remaining-Requests", "3", "X-Ratelimit-Reset-Requests", "1h", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6m0s"}, kind: providers.RateLimited, after: 6 * time.Minute},
	{name: "429 in words", status: 429, word: Limited, message: "Please retry in 36.5s.", kind: providers.RateLimited, after: 36500 * time.Millisecond},
	{name: "429 in minutes", status: 429, word: Limited, message: "Limit reached. Please try again in 6m0s.", kind: providers.RateLimited, after: 6 * time.Minute},
	{name: "429 in seconds", status: 429, word: Limited, message: "Please retry after 26 seconds.", kind: providers.RateLimited, after: 26 * time.Second},
	{name: "429 a year", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After", "31536000"}, kind: providers.RateLimited, after: 24 * time.Hour},
	{name: "429 before now", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After", "-7"}, kind: providers.RateLimited},
	{name: "429 some time", status: 429, word: Limited, message: "slow down", headers: []string{"Retry-After", "soon"}, kind: providers.RateLimited},
	{name: "429 quota", status: 429, word: Spent, message: "You have reached your specified API usage limits.", headers: []string{"Retry-After", "7"}, kind: providers.Permanent, reason: providers.Quota},
	{name: "429 for this request alone", status: 429, word: Limited, message: "Request too large for m: Limit 1, Requested 2", kind: providers.RateLimited, tooLong: true},
	{name: "451", status: 451, message: "law", kind: providers.Invalid},
	{name: "500", status: 500, word: Broken, message: "boom", kind: providers.Transient, reason: providers.Unavailable},
	{name: "500 with bad words", status: 500, word: Broken, message: "rate limit of 142900 tokens: prompt is too long, 401, lost access to the model", kind: providers.Transient, reason: providers.Unavailable},
	{name: "500 with a time", status: 500, word: Broken, message: "boom", headers: []string{"Retry-After", "2"}, kind: providers.Transient, after: 2 * time.Second},
	{name: "501", status: 501, message: "not yet", kind: providers.Transient},
	{name: "503", status: 503, word: Overloaded, message: "busy", kind: providers.Transient, reason: providers.Overloaded},
	{name: "503 with a time", status: 503, word: Overloaded, message: "later", headers: []string{"Retry-After", "3"}, kind: providers.Transient, reason: providers.Overloaded, after: 3 * time.Second},
	{name: "504", status: 504, message: "late", kind: providers.Transient, reason: providers.Unavailable},
	{name: "520", status: 520, message: "what", kind: providers.Transient, reason: providers.Unavailable},
	{name: "529", status: 529, word: Overloaded, message: "Overloaded", kind: providers.Transient, reason: providers.Overloaded},
	{name: "unprintable", status: 400, word: Odd, message: "bad\x1b[2J\u202efield\n\n\tthere", kind: providers.Invalid, text: "bad[2Jfield there"},
}

// all are the cases of f.
func all(f Format) []Case {
	out := slices.Concat(bodies(f), unusable(f), streams())
	for _, r := range refusals {
		text := r.text
		if text == "" {
			text = r.message
		}
		out = append(out, Case{
			Name: r.name, Answer: func(f Format) http.HandlerFunc {
				body, headers := f.Refuse(r.status, r.word, r.message)
				return Reply(r.status, body, append(headers, r.headers...)...)
			},
			Kind: r.kind, Reason: r.reason, After: r.after, TooLong: r.tooLong, Text: text, Status: r.status, Free: true,
		})
	}
	return out
}

func always(status int, body string, headers ...string) func(Format) http.HandlerFunc {
	return func(Format) http.HandlerFunc { return Reply(status, body, headers...) }
}

// bodies are errors whose bodies are in no vendor's format.
func bodies(f Format) []Case {
	secret := f.Secrets[0]
	return []Case{
		{Name: "the key in an error", Answer: func(f Format) http.HandlerFunc {
			body, headers := f.Refuse(401, BadKey, "Incorrect API key provided: "+secret)
			return Reply(401, body, headers...)
		}, Kind: providers.Permanent, Reason: providers.Unauthorized, Text: "Incorrect API key provided: [redacted]", Status: 401, Free: true},
		{Name: "the key in a text", Answer: always(403, "key "+secret+" is no key"), Kind: providers.Permanent, Text: "key [redacted] is no key", Status: 403},
		{Name: "no words", Answer: always(402, ""), Kind: providers.Permanent, Reason: providers.Quota, Text: "Payment Required", Status: 402},
		{Name: "an empty object", Answer: always(429, "{}"), Kind: providers.RateLimited, Text: "Too Many Requests", Status: 429},
		{Name: "null", Answer: always(500, "null"), Kind: providers.Transient, Text: "Internal Server Error", Status: 500},
		{Name: "a page", Answer: always(502, markup, "Content-Type", "text/html"), Kind: providers.Transient, Text: "Bad Gateway", Status: 502},
		{Name: "a page of who limits", Answer: always(429, markup, "Content-Type", "text/html", "Retry-After", "7"), Kind: providers.RateLimited, After: 7 * time.Second, Text: "Too Many Requests", Status: 429},
		{Name: "a text", Answer: always(404, "model m not found", "Content-Type", "text/plain"), Kind: providers.Permanent, Reason: providers.NotFound, Text: "model m not found", Status: 404},
		{Name: "an error that is a text", Answer: always(404, `{"error":"there is no m"}`), Kind: providers.Permanent, Reason: providers.NotFound, Text: "there is no m", Status: 404},
		{Name: "an error alone", Answer: always(422, `{"message":"odd"}`), Kind: providers.Invalid, Text: "odd", Status: 422},
		{Name: "half an error", Answer: always(500, `{"error":{"message":"bo`), Kind: providers.Transient, Text: `{"error":{"message":"bo`, Status: 500},
		{Name: "a megabyte of words", Answer: always(500, strings.Repeat("x", 1<<20), "Content-Type", "text/plain"), Kind: providers.Transient, Text: strings.Repeat("x", 300) + "...", Status: 500},
	}
}

// unusable are answers without an error's status.
func unusable(f Format) []Case {
	ok := func(name, body string, headers ...string) Case {
		return Case{Name: name, Answer: always(200, body, headers...), Kind: providers.Transient, Reason: providers.Unavailable, Status: 200, Paid: true}
	}
	page := func(name, body, label, text string) Case {
		return Case{Name: name, Answer: always(200, body, "Content-Type", label), Kind: providers.Permanent, Status: 200, Text: text, Free: true}
	}
	half := func(f Format) http.HandlerFunc { return Cut("application/json", f.Whole("hello")[:40]) }
	return []Case{
		ok("an answer of nothing", ""),
		page("an answer that is a page", markup, "text/html; charset=utf-8", f.Path+` is text/html, not a model's; it begins "bad": check the base URL, and logins or proxies on the way`),
		page("a page that is called JSON", "\r\n<!DOCTYPE html><style>p{}</style><title>Sign in</title>", "application/json", `is text/html, not a model's; it begins "Sign in"`),
		page("a page that is called a stream", markup, "text/event-stream", "is text/html"),
		page("a page of words", "Please log in.", "text/html", `it begins "Please log in."`),
		page("a document of XML", `<?xml version="1.0"?><Error>no</Error>`, "application/xml", "is application/xml"),
		page("words that are called XML", "no such bucket", "application/xml", `is application/xml, not a model's; it begins "no such bucket"`),
		page("a page with the key", "<p>"+strings.Repeat("x", 75)+f.Secrets[0], "text/html", "xxx[reda..."),
		ok("an answer that is an empty object", "{}"),
		ok("an answer that is null", "null"),
		ok("an answer that is a list", "[]"),
		ok("an answer that is a number", "7"),
		ok("an answer that is a text", `"hello"`),
		{Name: "an answer of no content", Answer: always(204, ""), Kind: providers.Transient, Status: 204, Paid: true},
		{Name: "an answer that is cut", Answer: half, Kind: providers.Transient, Text: "EOF", Status: 200, Paid: true},
		{Name: "two answers", Answer: func(f Format) http.HandlerFunc { return Reply(200, f.Whole("hello")+f.Whole("hello")) }, Kind: providers.Transient, Paid: true},
		{Name: "an answer that says nothing", Answer: func(f Format) http.HandlerFunc { return Reply(200, f.Whole("")) }, Kind: providers.Transient, Text: "neither text nor tool calls", Charged: true},
		{Name: "an answer that is half of the key", Answer: func(f Format) http.HandlerFunc {
			return Reply(200, `{"choices":"`+f.Secrets[0]+`","content":"`+f.Secrets[0]+`"`)
		}, Kind: providers.Transient, Paid: true},
		{Name: "an answer longer than the limit", Answer: func(f Format) http.HandlerFunc { return Reply(200, f.Whole(strings.Repeat("hello", 1000))) }, Options: Options{MaxBody: 4000}, Kind: providers.Permanent, Text: "longer than the limit", Paid: true},
		{Name: "an answer out of time", Answer: func(f Format) http.HandlerFunc { return Stall("application/json", f.Whole("hello")[:40]) }, Options: Options{Timeout: "20ms"}, Kind: providers.Transient, Reason: providers.Unavailable, Text: "no answer within 20ms", Paid: true},
		{Name: "no answer in time", Answer: func(Format) http.HandlerFunc { return Stall("", "") }, Options: Options{Timeout: "20ms"}, Kind: providers.Transient, Reason: providers.Unavailable, Text: "no answer within 20ms", Free: true},
	}
}

// streams are answers that break off or turn into an error.
func streams() []Case {
	stream := func(name, text string, body func(f Format) string, kind providers.Kind) Case {
		answer := func(f Format) http.HandlerFunc { return Reply(200, body(f), "Content-Type", f.Type) }
		return Case{Name: name, Answer: answer, Kind: kind, Text: text, Paid: true}
	}
	fails := func(w Word, message string) func(f Format) string {
		return func(f Format) string { return f.begun("par") + f.Fault(w, message) }
	}
	long := stream("a stream that has become too long", "too long", fails(TooLong, "prompt is too long: 2 tokens > 1 maximum"), providers.Invalid)
	long.TooLong = true
	busy := stream("a stream with an overload in it", "busy", fails(Overloaded, "busy"), providers.Transient)
	busy.Reason = providers.Overloaded
	refused := stream("a stream that begins with a fault", "boom", func(f Format) string { return f.Fault(Broken, "boom") }, providers.Transient)
	refused.Paid, refused.Free = false, true
	return []Case{
		stream("a stream of nothing", "without a finish reason", func(Format) string { return "" }, providers.Transient),
		stream("a stream without an end", "without a finish reason (after ", func(f Format) string { return f.begun("par") }, providers.Transient),
		stream("a stream that says nothing", "neither text nor tool calls", func(f Format) string { p := f.Parts(""); return p[0] + p[2] }, providers.Transient),
		stream("a stream with a limit in it", "slow down", fails(Limited, "slow down"), providers.RateLimited),
		busy,
		stream("a stream with a fault in it", "boom", fails(Broken, "boom"), providers.Transient),
		stream("a stream with two faults in it", "boom", func(f Format) string { return f.begun("par") + f.Fault(Broken, "boom") + f.Fault(Broken, "bang") }, providers.Transient),
		refused,
		long,
		{Name: "a stream that is cut", Answer: func(f Format) http.HandlerFunc { return Cut(f.Type, f.begun("par")) }, Kind: providers.Transient, Reason: providers.Unavailable, Text: "EOF", Paid: true},
		{Name: "a stream that is cut within an event", Answer: func(f Format) http.HandlerFunc {
			begun := f.begun("partial")
			return Cut(f.Type, begun[:len(begun)-20])
		}, Kind: providers.Transient, Reason: providers.Unavailable, Text: "EOF", Paid: true},
		{Name: "a stream out of time", Answer: func(f Format) http.HandlerFunc { return Stall(f.Type, f.begun("a")) }, Options: Options{Timeout: "50ms"}, Kind: providers.Transient, Reason: providers.Unavailable, Text: "no answer within 50ms", Paid: true},
		{Name: "a stream longer than the limit", Answer: func(f Format) http.HandlerFunc {
			return Reply(200, strings.Repeat(f.begun("hello"), 1000), "Content-Type", f.Type)
		}, Options: Options{MaxBody: 4000}, Kind: providers.Permanent, Text: "longer than the limit", Paid: true},
	}
}

// secure starts a server with an unknown certificate.
func secure(t testing.TB) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
