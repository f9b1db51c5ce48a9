package wire

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// maxRetryAfter is the longest wait that is accepted.
const maxRetryAfter = 24 * time.Hour

// retryWords match the places in a body that say how long to wait.
var retryWords = []*regexp.Regexp{
	regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+s)"`),
	regexp.MustCompile(`(?i)(?:retry|try again) (?:after|in) ((?:[0-9.]+(?:h|ms|m|s))+)\b`),
	regexp.MustCompile(`(?i)(?:retry|try again) (?:after|in) ([0-9.]+) seconds?\b`),
}

// limits are the counts of vendors that say when each of them is reset.
var limits = []struct{ remaining, reset string }{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
}

// retryAfter returns how long a vendor asks to wait, 0 if it does not say: from
// retry-after-ms, Retry-After as seconds or a date, the reset times of the limits that
// are reached, retryDelay in the body, or its message.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	if d, ok := number(h.Get("Retry-After"), time.Second); ok {
		return d
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // both times are by one clock
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return between(at.Sub(now))
	}
	var longest time.Duration
	for _, l := range limits {
		if left := h.Get(l.remaining); left == "" || left == "0" {
			longest = max(longest, span(h.Get(l.reset), now))
		}
	}
	for _, words := range retryWords {
		if m := words.FindSubmatch(body); longest == 0 && m != nil {
			longest = span(string(m[1]), now)
		}
	}
	return longest
}

// span reads a duration: as a duration, as seconds, or as the time of its end. What cannot
// be read is 0.
func span(text string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return between(d)
	}
	if d, ok := number(text, time.Second); ok {
		return d
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return between(at.Sub(now))
	}
	return 0
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0) { // NaN
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(maxRetryAfter))), true
}

func between(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }
