package workers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
	rules "github.com/convene-go/convene/orchestrator/research/workers/internal/robots"
)

// ErrRobots says that the robots.txt of a site does not allow the page.
const ErrRobots = agent.Code("research/robots")

// maxRobots is how much of a robots.txt counts, in bytes (RFC 9309, 2.5).
const maxRobots = 500 << 10

// robots are the robots.txt of sites, for as long as one call.
type robots struct {
	mu    sync.Mutex
	sites map[string]*site
}

// site is the robots.txt of one site.
type site struct {
	once sync.Once
	text string
	err  error // why it could not be read
}

// check returns nil if product may read a page. read returns the text of a robots.txt.
func (r *robots) check(ctx context.Context, u *url.URL, product string, read func(context.Context, *url.URL) (string, error)) error {
	home := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: "/robots.txt"}
	r.mu.Lock()
	s := r.sites[home.Host+home.Scheme]
	if s == nil {
		s = &site{}
		r.sites[home.Host+home.Scheme] = s
	}
	r.mu.Unlock()
	s.once.Do(func() { s.text, s.err = read(ctx, &home) })
	if s.err != nil {
		return fmt.Errorf("robots.txt: %w", s.err)
	}
	if !rules.Allow(s.text, product, u.String()) {
		return final{fmt.Errorf("%w: the site's robots.txt does not allow it", ErrRobots)}
	}
	return nil
}

// rulesOf returns the robots.txt in an answer: a site without one allows everything
// (RFC 9309, 2.3.1).
func rulesOf(a *answer) (string, error) {
	switch {
	case a.status == http.StatusOK:
		return string(a.body), nil
	case a.status == http.StatusTooManyRequests, a.status >= 500:
		return "", a.refusal()
	case a.status >= 400:
		return "", nil
	}
	return "", final{errors.New(http.StatusText(a.status))}
}
