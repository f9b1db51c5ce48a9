package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/convene-go/convene/providers/internal/wire"
)

// sign returns the function that signs requests. Nothing may change them afterwards.
func sign(credentials aws.CredentialsProvider, region string) wire.Sign {
	signer := v4.NewSigner()
	return func(ctx context.Context, r *http.Request, body []byte) ([]string, error) {
		accept := "Accept"
		if strings.HasSuffix(r.URL.Path, "stream") {
			accept = "X-Amzn-Bedrock-Accept" // it names the type inside the events
		}
		r.Header.Set(accept, "application/json")
		keys, err := credentials.Retrieve(ctx)
		secrets := []string{keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken}
		if err != nil {
			return secrets, fmt.Errorf("get AWS credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		err = signer.SignHTTP(ctx, keys, r, hex.EncodeToString(sum[:]), "bedrock", region, time.Now())
		return secrets, err
	}
}

// secrets are o's keys, if they are fixed.
func (o Opener) secrets() []string {
	k, ok := o.Credentials.(Keys)
	if !ok {
		return nil
	}
	return []string{k.ID, k.Secret, k.Session}
}
