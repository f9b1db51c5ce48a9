package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/providers"
)

// Settings are the flags that all programs have. Before Flags, set Program and DB, and
// other fields with their own defaults.
type Settings struct {
	Program string            // its name
	DB      string            // the database
	Model   *providers.Spec   // nil: rehearsal
	KeyEnv  string            // "": the provider's usual variable
	Budget  providers.NanoUSD // 0: no limit
	Timeout time.Duration     // 0: no limit
	Calls   int64             // 0: no limit
	Pace    time.Duration     // of a call of the rehearsal
	Fresh   bool              // start a new run although there is one

	model, baseURL, price string
	apiVersion, region    string
	usd                   float64
}

// Flags returns the flags of all programs; the caller adds its own.
func (s *Settings) Flags() *flag.FlagSet {
	fs := flag.NewFlagSet(s.Program, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.DB, "db", s.DB, "the SQLite `file` that keeps every answer")
	fs.StringVar(&s.model, "model", "", "ask this model, as `provider:name`; without it a rehearsal answers")
	fs.StringVar(&s.baseURL, "base-url", "", "the `URL` of the model's server: what comes before /chat/completions, /messages, azure's /openai or bedrock's /model")
	fs.StringVar(&s.apiVersion, "api-version", "", "the `date` that names the version of azure's API; without it the newest stable one")
	fs.StringVar(&s.region, "region", "", "the `region` of bedrock's model; without it that of AWS_REGION")
	fs.StringVar(&s.KeyEnv, "key-env", "", "the environment `variable` with the key (OPENAI_API_KEY, ANTHROPIC_API_KEY, ... by provider; bedrock: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN)")
	fs.StringVar(&s.price, "price", "", "what the model costs: USD for a million tokens as `in,out`; without it what is known of the provider's own service")
	fs.Float64Var(&s.usd, "budget", float64(s.Budget)/float64(providers.USD), "the most that a run may cost in `USD`; 0: no limit")
	fs.DurationVar(&s.Timeout, "timeout", s.Timeout, "how long a run may be worked on; 0: no limit")
	fs.Int64Var(&s.Calls, "calls", s.Calls, "the most calls of agents in a run; 0: no limit")
	fs.DurationVar(&s.Pace, "pace", 300*time.Millisecond, "how long a call of the rehearsal takes")
	fs.BoolVar(&s.Fresh, "new", false, "start a new run although there is one of this request")
	return fs
}

// Help is head, a line, and the flags.
func Help(fs *flag.FlagSet, head string) string {
	var b bytes.Buffer
	b.WriteString(head + "\n\n")
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}

// Parse reads a command line in which flags may come before and after words, and
// returns the words as one text. After "--" nothing is a flag.
func Parse(fs *flag.FlagSet, args []string) (string, error) {
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return "", err
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return strings.Join(words, " "), nil
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return strings.Join(append(words, rest...), " "), nil
		}
		words = append(words, rest[0])
		args = rest[1:]
	}
}

// Check checks the flags of s, after Parse.
func (s *Settings) Check() error {
	switch {
	case !(s.usd >= 0 && s.usd <= 1e9): // NaN is refused, too
		return fmt.Errorf("-budget is %v, want USD, 0 or more", s.usd)
	case s.Timeout < 0:
		return fmt.Errorf("-timeout is %v, want 0 or more", s.Timeout)
	case s.Calls < 0:
		return fmt.Errorf("-calls is %d, want 0 or more", s.Calls)
	case s.Pace < 0:
		return fmt.Errorf("-pace is %v, want 0 or more", s.Pace)
	case s.DB == "":
		return errors.New("-db is empty, want a file")
	}
	s.Budget = providers.NanoUSD(math.Ceil(s.usd * float64(providers.USD)))
	return s.checkModel()
}

func (s *Settings) checkModel() error {
	if s.model == "" {
		if s.baseURL != "" || s.apiVersion != "" || s.region != "" || s.price != "" || s.KeyEnv != "" {
			return errors.New("-base-url, -api-version, -region, -key-env and -price say more about a -model, which is missing")
		}
		return nil
	}
	spec, err := providers.ParseSpec(s.model)
	if err != nil {
		return fmt.Errorf("-model %q: %w", s.model, err)
	}
	spec.BaseURL, spec.APIVersion, spec.Region = s.baseURL, s.apiVersion, s.region
	if spec.Price, err = price(s.price); err != nil {
		return err
	}
	if _, known := spec.KnownPrice(); s.Budget > 0 && !known {
		return errors.New("-budget needs -price: what a call costs is not known otherwise")
	}
	s.Model = &spec
	return nil
}

// price reads "in,out" in USD for a million tokens; "" is unknown.
func price(text string) (*providers.Price, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a Spec without a Price has what is known of it, or nothing
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

// maxText is the longest text in bytes.
const maxText = 64 << 10

// Text is the request: from the command line, or for "-" from in. It is not empty, at most
// 64 KiB, UTF-8, and without control characters except white space. what names it in
// errors, hint says how to give it.
func Text(text string, in io.Reader, what, hint string) (string, error) {
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(in, maxText+1))
		if err != nil {
			return "", fmt.Errorf("read the %s: %w", what, err)
		}
		text = string(data)
	}
	if len(text) > maxText {
		return "", fmt.Errorf("the %s is too large: it has more than %d bytes", what, maxText)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("the %s is empty: %s", what, hint)
	case !utf8.ValidString(text), strings.ContainsFunc(text, notInText):
		return "", fmt.Errorf("the %s is no text: it is not UTF-8, or holds control characters", what)
	}
	return text, nil
}

func notInText(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r)
}
