package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
)

// ErrRobots says that the robots.txt of a site does not allow the page.
const ErrRobots = agent.Code("research/robots")

// maxRobots is how much of a robots.txt counts, in bytes (RFC 9309, 2.5).
const maxRobots = 500 << 10

// rule is a line of a robots.txt that applies to this worker.
type rule struct {
	pattern string
	allow   bool
}

// parseRobots reads the rules for a product: those of all groups that name it, else
// those of all groups for every product (RFC 9309, 2.2.1).
func parseRobots(text []byte, product string) []rule {
	var own, others []rule
	var mine, all, named bool // the group is for us, or for all; some group names us
	reading := false          // the names of a group
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
		for line := range bytes.SplitSeq(line, []byte("\r")) {
			text, _, _ := strings.Cut(string(line), "#")
			key, value, found := strings.Cut(text, ":")
			if !found {
				continue
			}
			key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
			switch key {
			case "user-agent":
				if !reading {
					mine, all = false, false
				}
				reading = true
				mine = mine || strings.EqualFold(productOf(value), product)
				all = all || value == "*"
				named = named || mine
			case "allow", "disallow":
				reading = false
				r := rule{escaped(value), key == "allow"}
				if mine && value != "" {
					own = append(own, r)
				}
				if all && value != "" {
					others = append(others, r)
				}
			}
		}
	}
	if named {
		return own
	}
	return others
}

// productOf is the name at the beginning of a User-Agent.
func productOf(userAgent string) string {
	rest := strings.TrimLeft(userAgent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
	return userAgent[:len(userAgent)-len(rest)]
}

// escaped is a path with what is not ASCII as URLs have it.
func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// allowed tells whether a path with its query may be read: the longest pattern that fits
// counts, of equals the one that allows (RFC 9309, 2.2.2).
func allowed(rules []rule, path string) bool {
	ok, longest := true, -1
	for _, r := range rules {
		n := len(r.pattern)
		if n < longest || n == longest && !r.allow || !fits(r.pattern, path) {
			continue
		}
		ok, longest = r.allow, n
	}
	return ok
}

// fits tells whether a path begins as a pattern says, in which * is any text and $ the
// end.
func fits(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for i, part := range parts[1:] {
		if whole && i+1 == last {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !whole || rest == ""
}

// robots are the rules of sites, for as long as one call.
type robots struct {
	mu    sync.Mutex
	sites map[string]*site
}

// site are the rules of one.
type site struct {
	once  sync.Once
	rules []rule
	err   error // why they could not be had
}

// check returns nil if a page may be read. read reads a robots.txt.
func (r *robots) check(ctx context.Context, u *url.URL, read func(context.Context, *url.URL) ([]rule, error)) error {
	home := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: "/robots.txt"}
	r.mu.Lock()
	s := r.sites[home.Host+home.Scheme]
	if s == nil {
		s = &site{}
		r.sites[home.Host+home.Scheme] = s
	}
	r.mu.Unlock()
	s.once.Do(func() { s.rules, s.err = read(ctx, &home) })
	if s.err != nil {
		return fmt.Errorf("robots.txt: %w", s.err)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if !allowed(s.rules, path) {
		return final{ErrRobots}
	}
	return nil
}

// rulesOf are the rules in an answer: a site without robots.txt allows everything
// (RFC 9309, 2.3.1).
func rulesOf(a *answer, product string) ([]rule, error) {
	switch {
	case a.status == http.StatusOK:
		return parseRobots(a.body, product), nil
	case a.status == http.StatusTooManyRequests, a.status >= 500:
		return nil, a.refusal()
	case a.status >= 400:
		return nil, nil
	}
	return nil, final{errors.New(http.StatusText(a.status))}
}
