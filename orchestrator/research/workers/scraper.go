package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	rules "github.com/convene-go/convene/orchestrator/research/workers/internal/robots"
)

// DefaultUserAgent is the name of a worker without a configured one.
const DefaultUserAgent = "convene-research/1 (+https://github.com/convene-go/convene)"

// maxRedirects is how many redirects lead to a page, or to a robots.txt.
const maxRedirects = 5

// ScraperConfig says how a scraper reads. The zero value is the default.
type ScraperConfig struct {
	// Client carries the requests. Its transport, if it is an *http.Transport or nil, is
	// copied; the copy connects only to what Access allows, speaks HTTP/1.1 and uses no
	// proxy. A transport of another type is not restricted: then Access is checked only
	// for addresses as written, not for what their names resolve to. The client's
	// CheckRedirect is not used. nil: a client of the package's own.
	Client *http.Client

	// Access says what may be reached beyond public addresses.
	Access Access

	// UserAgent names the program to sites, and in their robots.txt by its first word.
	// It should say how to contact the host. "": DefaultUserAgent.
	UserAgent string

	// IgnoreRobots reads pages whatever robots.txt says: for sites whose owners agree.
	IgnoreRobots bool

	// Limits bound a call.
	Limits ScraperLimits
}

// ScraperLimits bound a call of a scraper. A zero field is its default.
type ScraperLimits struct {
	Pages     int           // to read; 0: 10
	Parallel  int           // sites at once; 0: 4
	PageBytes int64         // of a page, decompressed: a longer one is not read; 0: 2 MiB
	PDFBytes  int64         // length of a PDF that is read; 0: 16 MiB
	PageText  int           // characters that are kept of its text; 0: 4,000
	PageTime  time.Duration // for a page, with redirects and robots.txt; 0: 20 s
	TotalTime time.Duration // for a call, which returns what it has by then; 0: 3 minutes
}

func (c ScraperConfig) withDefaults() ScraperConfig {
	c.Access = c.Access.clone()
	c.UserAgent = cmp.Or(c.UserAgent, DefaultUserAgent)
	l := &c.Limits
	l.Pages, l.Parallel = cmp.Or(l.Pages, 10), cmp.Or(l.Parallel, 4)
	l.PageBytes, l.PDFBytes, l.PageText = cmp.Or(l.PageBytes, 2<<20), cmp.Or(l.PDFBytes, 16<<20), cmp.Or(l.PageText, 4000)
	l.PageTime, l.TotalTime = cmp.Or(l.PageTime, 20*time.Second), cmp.Or(l.TotalTime, 3*time.Minute)
	return c
}

// validate returns every fault of c joined into one error, or nil.
func (c ScraperConfig) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, p := range c.Access.AllowPrivate {
		if !p.IsValid() {
			bad("Access.AllowPrivate[%d] is no network", i)
		}
	}
	if err := checkUserAgent(c.UserAgent); err != nil {
		errs = append(errs, err)
	}
	l := c.Limits
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Pages", int64(l.Pages)},
		{"Parallel", int64(l.Parallel)},
		{"PageBytes", l.PageBytes},
		{"PDFBytes", l.PDFBytes},
		{"PageText", int64(l.PageText)},
		{"PageTime", int64(l.PageTime)},
		{"TotalTime", int64(l.TotalTime)},
	} {
		if f.value < 0 {
			bad("Limits.%s is negative, want 0 or more", f.name)
		}
	}
	for name, bytes := range map[string]int64{"PageBytes": l.PageBytes, "PDFBytes": l.PDFBytes} {
		if bytes > 64<<20 {
			bad("Limits.%s is %d, want at most 64 MiB", name, bytes)
		}
	}
	return errors.Join(errs...)
}

func checkUserAgent(name string) error {
	if name == "" || rules.Product(name) != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil
	}
	return fmt.Errorf("UserAgent is %q, want a line of ASCII that begins with a letter", name)
}

// WebScraper reads web pages. It is safe for concurrent use.
type WebScraper struct{ cfg ScraperConfig }

// NewWebScraper returns a scraper, or every fault of cfg in one error.
func NewWebScraper(cfg ScraperConfig) (*WebScraper, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("web scraper: %w", err)
	}
	return &WebScraper{cfg: cfg.withDefaults()}, nil
}

// Fetch reads one page. Its error is transient (agent.Transient) if a retry may help,
// with the wait before it; else it is providers.Permanent, and [ErrAddress] or
// [ErrRobots] if the page must not be read.
func (s *WebScraper) Fetch(ctx context.Context, address string) (Page, error) {
	v, end := s.begin()
	defer end()
	p, err := v.page(ctx, address)
	if err != nil {
		return Page{}, fmt.Errorf("read %.200q: %w", address, err)
	}
	return p, nil
}

// visit is one call.
type visit struct {
	caller
	cfg    ScraperConfig
	robots robots
}

// begin returns a visit, and a function that closes its connections.
func (s *WebScraper) begin() (v *visit, end func()) {
	client, end := s.cfg.Access.guarded(s.cfg.Client)
	return &visit{caller: caller{client, s.cfg.UserAgent}, cfg: s.cfg, robots: robots{sites: map[string]*site{}}}, end
}

// page reads a page within the time limit of a page.
func (v *visit) page(outer context.Context, address string) (Page, error) {
	u, err := v.cfg.Access.rules().Parse(address)
	if err != nil {
		return Page{}, final{err}
	}
	ctx, cancel := context.WithTimeoutCause(outer, v.cfg.Limits.PageTime, fmt.Errorf("it took longer than %v", v.cfg.Limits.PageTime))
	defer cancel()
	p, err := v.fetch(ctx, u)
	switch {
	case outer.Err() != nil:
		return Page{}, outer.Err()
	case ctx.Err() != nil:
		return Page{}, broken(context.Cause(ctx))
	}
	return p, err
}

// fetch requests a page and reads the answer.
func (v *visit) fetch(ctx context.Context, u *url.URL) (Page, error) {
	l := v.cfg.Limits
	a, err := v.follow(ctx, u, bound{bytes: l.PageBytes, pdf: l.PDFBytes}, v.permitted)
	switch {
	case err != nil:
		return Page{}, err
	case a.status != http.StatusOK:
		return Page{}, a.refusal()
	}
	return pageOf(ctx, a, l.PageText)
}

// follow requests a page and follows its redirects; each address must be permitted.
func (v *visit) follow(ctx context.Context, u *url.URL, b bound, permitted func(context.Context, *url.URL) error) (*answer, error) {
	for range 1 + maxRedirects {
		if err := v.cfg.Access.rules().CheckURL(u); err != nil {
			return nil, final{err}
		}
		if err := permitted(ctx, u); err != nil {
			return nil, err
		}
		a, err := v.ask(ctx, u, b)
		if err != nil {
			return nil, err
		}
		next, err := a.redirect()
		if err != nil || next == nil {
			return a, err
		}
		u = next
	}
	return nil, final{fmt.Errorf("it redirects more than %d times", maxRedirects)}
}

// permitted checks the robots.txt of the page's site.
func (v *visit) permitted(ctx context.Context, u *url.URL) error {
	if v.cfg.IgnoreRobots {
		return nil
	}
	return v.robots.check(ctx, u, rules.Product(v.userAgent), func(ctx context.Context, home *url.URL) (string, error) {
		a, err := v.follow(ctx, home, bound{bytes: maxRobots, cut: true}, func(context.Context, *url.URL) error { return nil })
		if err != nil {
			return "", err
		}
		return rulesOf(a)
	})
}
