package bedrock_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/bedrock/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// checkSignature does what AWS does with a request: it computes the signature of
// what came, by the published description of Signature Version 4 and without the
// SDK. So a request that was changed after it was signed does not pass.
func checkSignature(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if !assert.NotNil(t, m, "Authorization is %q", r.Header.Get("Authorization")) {
		return
	}
	id, day, region, names, signature := m[1], m[2], m[3], strings.Split(m[4], ";"), m[5]
	assert.Equal(t, keys.ID, id)
	assert.Equal(t, home, region)
	for _, name := range []string{"content-type", "host", "x-amz-date", "x-amz-security-token"} {
		assert.Contains(t, names, name, "signed headers")
	}
	canonical := r.Method + "\n" + encodeAgain(r.URL.EscapedPath()) + "\n" + r.URL.RawQuery + "\n"
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + m[4] + "\n" + hexSum(body)
	stamp := r.Header.Get("X-Amz-Date")
	scope := day + "/" + region + "/bedrock/aws4_request"
	key := []byte("AWS4" + keys.Secret)
	for _, part := range []string{day, region, "bedrock", "aws4_request"} {
		key = mac(key, part)
	}
	want := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hexSum([]byte(canonical))))
	assert.Equal(t, want, signature, "signature of\n%s", canonical)
	assert.Equal(t, keys.Session, r.Header.Get("X-Amz-Security-Token"))
}

// encodeAgain escapes an escaped path, as all services but S3 want it.
func encodeAgain(path string) string {
	return strings.ReplaceAll(path, "%", "%25")
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// The check itself, on the example request of AWS's description.
func TestSignatureOfTheDescription(t *testing.T) {
	key := []byte("AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	for _, part := range []string{"20150830", "us-east-1", "iam", "aws4_request"} {
		key = mac(key, part)
	}
	require.Equal(t, "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9", hex.EncodeToString(key))
}
