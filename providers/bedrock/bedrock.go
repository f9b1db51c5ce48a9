package bedrock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
	"github.com/convene-go/convene/providers/internal/wire"
)

// Limits of an [Opener] and a [providers.Spec] without their own.
const (
	DefaultMaxBody = wire.MaxBody
	DefaultIdle    = wire.Idle
)

// Open returns the function that [providers.NewRoles] takes: the Open of an [Opener]
// with these credentials and that region, for Specs of the provider bedrock.
// [providers.Openers] combines it with those of other providers. A host that has loaded
// an aws.Config passes its Credentials and Region.
func Open(credentials aws.CredentialsProvider, region string) func(providers.Spec) (providers.Model, error) {
	return Opener{Credentials: credentials, Region: region}.Open
}

// Opener opens models of Bedrock.
type Opener struct {
	// Credentials sign the requests: [Keys], or the Credentials of the aws.Config
	// that the host has loaded. They are retrieved before every call, so slow ones
	// should be in an [aws.CredentialsCache], as the SDK's configuration does it.
	Credentials aws.CredentialsProvider

	// Region is that of Specs that say none, such as us-east-1.
	Region string

	// Transport carries the requests, and is where a proxy or a client
	// certificate is set. Nil: one that all Openers share, with time limits for
	// connecting and no proxy.
	Transport http.RoundTripper

	// MaxBody is how many bytes of an answer are read, decompressed. An answer
	// that is longer is a Permanent error. At most 1 GiB; zero: DefaultMaxBody.
	MaxBody int64

	// Idle is how long a begun answer may be silent: longer silence is a Transient
	// error. Before the answer begins, a model may think for 10 minutes. Zero:
	// DefaultIdle.
	Idle time.Duration

	// NoCache disables prompt caching of Claude and Nova. Otherwise long instructions are
	// cached, and with tools the conversation too. If a model refuses the marker for
	// that, the call is repeated without it, and later calls leave it out.
	NoCache bool
}

// Open opens the model of s, without calling it.
//
// Without a BaseURL the region's public endpoint is called. Redirects are not
// followed. The model is an ID of Bedrock's, such as anthropic.claude-sonnet-5 or
// us.amazon.nova-pro-v1:0, or the ARN of an inference profile, whose Family names the
// model that the ARN hides: with the Family claude-sonnet-4-5 it is called like that one.
//
// The model is a [providers.Metered], so s's Price, Temperature, MaxTokens and
// Params count. Its Generate makes one attempt; s's Timeout limits it as a whole.
// Its errors are *[providers.Error]. Answers are streamed from the vendor; if the
// credentials do not allow that, they come in one piece.
func (o Opener) Open(s providers.Spec) (providers.Model, error) {
	m, err := o.open(s)
	if err != nil {
		return nil, fmt.Errorf("bedrock: open %s: %w", redact.New(o.secrets()...).Clean(s.String()), err)
	}
	return providers.Metered{Model: m, Spec: s}, nil
}

func (o Opener) open(s providers.Spec) (*wire.Model, error) {
	region := cmp.Or(s.Region, o.Region)
	if err := errors.Join(s.Validate(), o.check(), o.options().Check(), checkSpec(s), checkRegion(region, s.BaseURL)); err != nil {
		return nil, err
	}
	base, err := url.Parse(cmp.Or(s.BaseURL, endpoint(region)))
	if err != nil {
		return nil, errors.New("baseURL is none") // impossible: Validate has seen it
	}
	url := strings.TrimSuffix(base.String(), "/") + "/model/" + escape(s.Model) + "/"
	return wire.New(s, o.options(), sign(o.Credentials, region), talks(s, url, o.NoCache), o.secrets()...), nil
}

func (o Opener) options() wire.Options {
	return wire.Options{Transport: o.Transport, MaxBody: o.MaxBody, Idle: o.Idle}
}

// escape returns a model's ID as part of a path: ARNs have slashes.
func escape(id string) string { return httpbinding.EscapePath(id, true) }

// String shows nothing of o.
func (o Opener) String() string { return "bedrock.Opener" }

// Format is String, for every verb.
func (o Opener) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

func (o Opener) check() error {
	var errs []error
	switch k, static := o.Credentials.(Keys); {
	case o.Credentials == nil:
		errs = append(errs, errors.New("Opener.Credentials is nil"))
	case static:
		errs = append(errs, k.check())
	}
	return errors.Join(errs...)
}

func checkSpec(s providers.Spec) error {
	var errs []error
	if s.Provider != providers.Bedrock && s.Provider != "" {
		errs = append(errs, fmt.Errorf("%w %q, want %s", providers.ErrUnknownProvider, s.Provider, providers.Bedrock))
	}
	if s.APIVersion != "" {
		errs = append(errs, fmt.Errorf("apiVersion is %q, which azure alone has", s.APIVersion))
	}
	return errors.Join(errs...)
}

var (
	regionName   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	publicRegion = regexp.MustCompile(`^[a-z]{2}(-gov)?-[a-z]+-[0-9]+$`)
)

// checkRegion checks that a region is one: it becomes part of a host's name.
func checkRegion(region, baseURL string) error {
	switch {
	case region == "":
		return errors.New("region is empty, want one such as us-east-1")
	case !regionName.MatchString(region):
		return fmt.Errorf("region is %q, want one such as us-east-1", region)
	case baseURL == "" && !publicRegion.MatchString(region):
		return fmt.Errorf("the endpoint of region %q is not known, want a baseURL", region)
	}
	return nil
}

func endpoint(region string) string {
	host := "https://bedrock-runtime." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return host
}
