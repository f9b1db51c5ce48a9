package langchain

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// maxRetryAfter is the longest wait that is believed.
const maxRetryAfter = 24 * time.Hour

var retryDelay = regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+s)"`)

// retryAfter returns how long a vendor wants to be left alone, 0 if it does not
// say: from retry-after-ms, Retry-After as seconds or a date, the reset times of
// the limits that are reached, or retryDelay in the body.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	if d, ok := number(h.Get("Retry-After"), time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date // the same clock
		}
		return between(at.Sub(now))
	}
	var longest time.Duration
	for _, of := range []string{"Requests", "Tokens"} {
		if left := h.Get("X-Ratelimit-Remaining-" + of); left != "" && left != "0" {
			continue
		}
		if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + of)); err == nil {
			longest = max(longest, between(d))
		}
	}
	if m := retryDelay.FindSubmatch(body); longest == 0 && m != nil {
		if d, err := time.ParseDuration(string(m[1])); err == nil {
			longest = between(d)
		}
	}
	return longest
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0) { // NaN
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(maxRetryAfter))), true
}

func between(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }
