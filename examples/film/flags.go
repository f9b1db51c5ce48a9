package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// maxRequest is the longest request in bytes. Every department gets all of it.
const maxRequest = 64 << 10

var errHelp = flag.ErrHelp

// errUsage marks errors of the command line; its text is the rest of the line.
var errUsage = errors.New("(film -h lists the flags)")

// options are a command line that was understood.
type options struct {
	request string
	db, out string
	model   *providers.Spec // nil: rehearsal
	keyEnv  string          // "": the provider's usual variable
	budget  providers.NanoUSD
	timeout time.Duration
	calls   int64
	pace    time.Duration
	fresh   bool
}

// written are flags that need a second look.
type written struct {
	model, baseURL, price string
	apiVersion, region    string
	usd                   float64
}

func newFlags(o *options, w *written) *flag.FlagSet {
	fs := flag.NewFlagSet("film", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.db, "db", "film.db", "the SQLite `file` that keeps every answer")
	fs.StringVar(&o.out, "o", "", "write the outcome as JSON to this `file`, too")
	fs.StringVar(&w.model, "model", "", "ask this model, as `provider:name`; without it a rehearsal answers")
	fs.StringVar(&w.baseURL, "base-url", "", "the `URL` of the model's server: what comes before /chat/completions, /messages, azure's /openai or bedrock's /model")
	fs.StringVar(&w.apiVersion, "api-version", "", "the `date` that names the version of azure's API; without it the newest stable one")
	fs.StringVar(&w.region, "region", "", "the `region` of bedrock's model; without it that of AWS_REGION")
	fs.StringVar(&o.keyEnv, "key-env", "", "the environment `variable` with the key (OPENAI_API_KEY, ANTHROPIC_API_KEY, ... by provider; bedrock: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN)")
	fs.StringVar(&w.price, "price", "", "what the model costs: USD for a million tokens as `in,out`; without it what is known of the provider's own service")
	fs.Float64Var(&w.usd, "budget", 0, "the most that a run may cost in `USD`; 0: no limit")
	fs.DurationVar(&o.timeout, "timeout", 0, "how long a run may be worked on; 0: no limit")
	fs.Int64Var(&o.calls, "calls", 0, "the most calls of agents in a run; 0: no limit")
	fs.DurationVar(&o.pace, "pace", 300*time.Millisecond, "how long a call of the rehearsal takes")
	fs.BoolVar(&o.fresh, "new", false, "start afresh although there is a run of this request")
	return fs
}

func usage() string {
	var b strings.Builder
	fs := newFlags(&options{}, &written{})
	b.WriteString("film [flags] \"request\"     (flags may follow the request; \"-\" reads it from the standard input)\n\n")
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}

// parse reads a command line. Flags may stand before and behind the request, and
// a request without quotation marks is put together again.
func parse(args []string, in io.Reader) (options, error) {
	var o options
	var w written
	fs := newFlags(&o, &w)
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return o, bad(err)
		}
		rest := fs.Args()
		if len(rest) == 0 {
			break
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			words = append(words, rest...)
			break
		}
		words = append(words, rest[0])
		args = rest[1:]
	}
	var err error
	if o.request, err = request(words, in); err != nil {
		return o, bad(err)
	}
	if err := o.check(w); err != nil {
		return o, bad(err)
	}
	return o, nil
}

func bad(err error) error {
	if errors.Is(err, errHelp) {
		return err
	}
	return fmt.Errorf("%w %w", err, errUsage)
}

func request(words []string, in io.Reader) (string, error) {
	text := strings.Join(words, " ")
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
		if err != nil {
			return "", fmt.Errorf("read the request: %w", err)
		}
		text = string(data)
	}
	if len(text) > maxRequest {
		return "", fmt.Errorf("the request is too large: it has more than %d bytes", maxRequest)
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" {
		return "", errors.New("the request is empty: say what the studio shall make")
	}
	return text, nil
}

// check looks at single values and at what goes together.
func (o *options) check(w written) error {
	switch {
	case !(w.usd >= 0 && w.usd <= 1e9): // also refuses NaN
		return fmt.Errorf("-budget is %v, want USD, 0 or more", w.usd)
	case o.timeout < 0:
		return fmt.Errorf("-timeout is %v, want 0 or more", o.timeout)
	case o.calls < 0:
		return fmt.Errorf("-calls is %d, want 0 or more", o.calls)
	case o.pace < 0:
		return fmt.Errorf("-pace is %v, want 0 or more", o.pace)
	case o.db == "":
		return errors.New("-db is empty, want a file")
	}
	o.budget = providers.NanoUSD(math.Ceil(w.usd * float64(providers.USD)))
	if err := o.checkOut(); err != nil {
		return err
	}
	return o.checkModel(w)
}

// checkModel makes a Spec of the flags that are about the model.
func (o *options) checkModel(w written) error {
	if w.model == "" {
		if w.baseURL != "" || w.apiVersion != "" || w.region != "" || w.price != "" || o.keyEnv != "" {
			return errors.New("-base-url, -api-version, -region, -key-env and -price say more about a -model, which is missing")
		}
		return nil
	}
	spec, err := providers.ParseSpec(w.model)
	if err != nil {
		return fmt.Errorf("-model %q: %w", w.model, err)
	}
	spec.BaseURL, spec.APIVersion, spec.Region = w.baseURL, w.apiVersion, w.region
	if spec.Price, err = price(w.price); err != nil {
		return err
	}
	if _, known := spec.KnownPrice(); !known && o.budget > 0 {
		return errors.New("-budget needs -price: what a call costs is not known otherwise")
	}
	o.model = &spec
	return nil
}

// checkOut finds out before the work begins that its outcome could not be written.
func (o *options) checkOut() error {
	if o.out == "" {
		return nil
	}
	was, err := os.Stat(o.out)
	fresh := errors.Is(err, os.ErrNotExist)
	db, _ := os.Stat(o.db)
	if filepath.Clean(o.out) == filepath.Clean(o.db) || was != nil && db != nil && os.SameFile(was, db) {
		return fmt.Errorf("-o %s is the file of -db, want another one", o.out)
	}
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	err = f.Close()
	if fresh {
		err = errors.Join(err, os.Remove(o.out))
	}
	return err
}

// price reads "in,out" in USD for a million tokens; "" is unknown.
func price(text string) (*providers.Price, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a Spec without a Price has the one that is known, if any
	}
	in, out, ok := strings.Cut(text, ",")
	inUSD, err1 := strconv.ParseFloat(in, 64)
	outUSD, err2 := strconv.ParseFloat(out, 64)
	if !ok || err1 != nil || err2 != nil || !(inUSD >= 0 && inUSD <= 1e6) || !(outUSD >= 0 && outUSD <= 1e6) {
		return nil, fmt.Errorf("-price is %q, want two figures in USD, as 0.15,0.60", text)
	}
	usd := float64(providers.USD)
	return &providers.Price{Input: providers.NanoUSD(math.Round(inUSD * usd)), Output: providers.NanoUSD(math.Round(outUSD * usd))}, nil
}
