package bedrock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/convene-go/convene/providers/internal/wire"
)

// Keys are a fixed AWS access key. Neither printing them nor encoding them as JSON shows
// them.
type Keys struct {
	ID      string `json:"-"` // access key ID
	Secret  string `json:"-"` // secret access key
	Session string `json:"-"` // the token of temporary credentials; "": they are not
}

var _ aws.CredentialsProvider = Keys{}

// Retrieve implements [aws.CredentialsProvider].
func (k Keys) Retrieve(context.Context) (aws.Credentials, error) {
	if err := k.check(); err != nil {
		return aws.Credentials{}, err
	}
	return aws.Credentials{
		AccessKeyID: k.ID, SecretAccessKey: k.Secret, SessionToken: k.Session, Source: "bedrock.Keys",
	}, nil
}

// String shows nothing of k.
func (k Keys) String() string { return "AWS keys" }

// GoString is String, for %#v.
func (k Keys) GoString() string { return k.String() }

// Format is String, for every verb.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// check returns every fault of k joined into one error, or nil. It quotes no key.
func (k Keys) check() error {
	var errs []error
	for _, part := range []struct {
		name, value string
		required    bool
	}{{"ID", k.ID, true}, {"Secret", k.Secret, true}, {"Session", k.Session, false}} {
		switch {
		case part.value == "" && part.required:
			errs = append(errs, errors.New("Keys."+part.name+" is empty"))
		case strings.ContainsFunc(part.value, wire.NotInKey):
			errs = append(errs, errors.New("Keys."+part.name+" holds white space or a character that no key has"))
		}
	}
	return errors.Join(errs...)
}
