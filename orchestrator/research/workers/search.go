package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/feed"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// DefaultSearchURL is arXiv's query interface.
const DefaultSearchURL = "https://export.arxiv.org/api/query"

const (
	maxTerms = 10
	maxFeed  = 4 << 20 // bytes
)

// SearchConfig says how papers are searched for. The zero value is the default.
type SearchConfig struct {
	// URL is the address of arXiv's query interface, or of one that answers alike. The
	// host sets it, so it may be private; redirects may lead only to its host. "":
	// DefaultSearchURL.
	URL string

	// Client carries the requests. Its CheckRedirect is not used. nil: one of the
	// package's own, without a proxy.
	Client *http.Client

	// UserAgent names the program. "": DefaultUserAgent.
	UserAgent string

	Results int           // at most, of a search, 1 to 100; 0: 50
	Pause   time.Duration // from the end of a request to the next; 0: 3 s
	Timeout time.Duration // of a request; 0: 30 s
}

func (c SearchConfig) withDefaults() SearchConfig {
	c.URL, c.UserAgent = cmp.Or(c.URL, DefaultSearchURL), cmp.Or(c.UserAgent, DefaultUserAgent)
	c.Results = cmp.Or(c.Results, 50)
	c.Pause, c.Timeout = cmp.Or(c.Pause, 3*time.Second), cmp.Or(c.Timeout, 30*time.Second)
	return c
}

// validate returns every fault of c joined into one error, or nil.
func (c SearchConfig) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad("URL is not an absolute http or https URL")
	}
	if err := checkUserAgent(c.UserAgent); err != nil {
		errs = append(errs, err)
	}
	if c.Results < 0 || c.Results > 100 {
		bad("Results is %d, want 1 to 100, or 0 for the default", c.Results)
	}
	if c.Pause < 0 {
		bad("Pause is %v, want 0 or more", c.Pause)
	}
	if c.Timeout < 0 {
		bad("Timeout is %v, want 0 or more", c.Timeout)
	}
	return errors.Join(errs...)
}

// AcademicSearch searches arXiv. It is safe for concurrent use: its requests are made one
// at a time.
type AcademicSearch struct {
	caller
	cfg  SearchConfig
	base *url.URL
	turn chan struct{} // holds a token, which a request needs
}

// NewAcademicSearch returns a search, or every fault of cfg in one error.
func NewAcademicSearch(cfg SearchConfig) (*AcademicSearch, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("academic search: %w", err)
	}
	cfg = cfg.withDefaults()
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("academic search: URL: %w", err)
	}
	t := plainTransport()
	t.DisableKeepAlives = true // the next request is seconds away
	client := &http.Client{Transport: t}
	if cfg.Client != nil {
		*client = *cfg.Client
	}
	client.CheckRedirect = stay
	a := &AcademicSearch{caller: caller{client, cfg.UserAgent}, cfg: cfg, base: base, turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a, nil
}

// stay refuses redirects to another host.
func stay(r *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case !strings.EqualFold(r.URL.Hostname(), first.Hostname()):
		return fmt.Errorf("%w: it redirects to another host", ErrAddress)
	case len(via) > maxRedirects:
		return final{fmt.Errorf("it redirects more than %d times", maxRedirects)}
	}
	return nil
}

// Call searches for the topic of the brief in req.Input, a research.WorkerInput, as many
// papers as the brief requires sources, within the configured limit. It answers with
// research.Findings; to find nothing is no error.
func (a *AcademicSearch) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	in, err := inputOf(req)
	if err != nil {
		return agent.Response{}, fmt.Errorf("academic search: %w", err)
	}
	sources, err := a.Search(ctx, in.Brief.Topic, cmp.Or(in.Brief.MinSources, 10))
	if err != nil {
		return agent.Response{}, err
	}
	f := research.Findings{Sources: sources, Summary: fmt.Sprintf("Papers that arXiv has for this: %d.", len(sources))}
	return agent.Response{Data: agent.JSON(f)}, nil
}

// Search returns at most most papers about a topic in arXiv's order; at least 1 and at
// most SearchConfig.Results are requested. It looks for papers with all significant words
// of the topic, up to ten; if there are none, for papers with any of them.
//
// A source's relevance is the share of these words that its title and abstract have,
// as whole words in any case: 0 to 1. Its excerpt has authors, date and abstract.
//
// Its error is transient (agent.Transient) if a retry may help, with the wait before it;
// else it is providers.Permanent, and [ErrNothing] for a topic without words.
func (a *AcademicSearch) Search(ctx context.Context, topic string, most int) ([]research.Source, error) {
	list := prose.Terms(topic, maxTerms)
	if len(list) == 0 {
		return nil, final{fmt.Errorf("academic search: %w: the topic has no words", ErrNothing)}
	}
	most = max(1, min(most, a.cfg.Results))
	f, err := a.query(ctx, list, " AND ", most)
	if err == nil && len(f.Entries) == 0 && len(list) > 1 {
		f, err = a.query(ctx, list, " OR ", most)
	}
	if err != nil {
		return nil, fmt.Errorf("academic search: %w", err)
	}
	sources := []research.Source{}
	for _, e := range f.Entries {
		if s, ok := e.Source(); ok {
			s.Relevance = prose.Overlap(list, e.Title+" "+e.Summary)
			sources = append(sources, s)
		}
	}
	return sources, nil
}

// query makes a request when the pause since the last one is over.
func (a *AcademicSearch) query(ctx context.Context, terms []string, operator string, most int) (feed.Feed, error) {
	if err := ctx.Err(); err != nil {
		return feed.Feed{}, err
	}
	select {
	case <-a.turn:
	case <-ctx.Done():
		return feed.Feed{}, ctx.Err()
	}
	pause := a.cfg.Pause
	defer func() { time.AfterFunc(pause, func() { a.turn <- struct{}{} }) }()
	f, err := a.request(ctx, a.address(terms, operator, most), most)
	if err != nil {
		pause = max(pause, agent.ErrorOf(err).RetryAfter)
	}
	return f, err
}

// request makes a request within its time limit.
func (a *AcademicSearch) request(outer context.Context, u *url.URL, most int) (feed.Feed, error) {
	ctx, cancel := context.WithTimeoutCause(outer, a.cfg.Timeout, fmt.Errorf("it took longer than %v", a.cfg.Timeout))
	defer cancel()
	got, err := a.ask(ctx, u, bound{bytes: maxFeed})
	switch {
	case outer.Err() != nil:
		return feed.Feed{}, outer.Err()
	case ctx.Err() != nil:
		return feed.Feed{}, broken(context.Cause(ctx))
	case err != nil:
		return feed.Feed{}, err
	case got.status != http.StatusOK && got.status != http.StatusBadRequest:
		return feed.Feed{}, got.refusal()
	}
	f, err := feed.Parse(got.body, most)
	switch fault := f.Fault(); {
	case fault != "":
		return feed.Feed{}, final{errors.New(fault)}
	case got.status != http.StatusOK:
		return feed.Feed{}, got.refusal()
	case err != nil:
		return feed.Feed{}, final{err}
	case len(f.Entries) == 0 && f.Total > 0:
		return feed.Feed{}, agent.Transient(fmt.Errorf("it has %d papers and sent none", f.Total), 0)
	}
	return f, nil
}

// address is the URL of a query: each word is searched for in all fields.
func (a *AcademicSearch) address(terms []string, operator string, most int) *url.URL {
	u := *a.base
	q := u.Query()
	q.Set("search_query", "all:"+strings.Join(terms, operator+"all:"))
	q.Set("start", "0")
	q.Set("max_results", strconv.Itoa(most))
	q.Set("sortBy", "relevance")
	q.Set("sortOrder", "descending")
	u.RawQuery = q.Encode()
	return &u
}
