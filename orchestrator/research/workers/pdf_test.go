package workers

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/pdf"
	"github.com/convene-go/convene/providers"
)

// object is an object of a PDF: what stands behind its number, and its stream.
type object struct {
	dict   string
	stream []byte
}

// fileOf is a file of objects, of which the first is the catalog.
func fileOf(objects ...object) string {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n", i+1)
		if o.stream == nil {
			b.WriteString(o.dict)
		} else {
			fmt.Fprintf(&b, "<< /Length %d %s >>\nstream\n%s\nendstream", len(o.stream), o.dict, o.stream)
		}
		b.WriteString("\nendobj\n")
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.String()
}

// document is a PDF with a page for each object, which is its content.
func document(contents ...object) string {
	var kids []string
	var rest []object
	for i, c := range contents {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
		rest = append(rest, object{dict: fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i)}, c)
	}
	return fileOf(append([]object{
		{dict: "<< /Type /Catalog /Pages 2 0 R >>"},
		{dict: fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))},
		{dict: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"},
	}, rest...)...)
}

// says is the content of a page with one line.
func says(text string) object {
	return object{stream: []byte("BT /F1 12 Tf 50 700 Td (" + text + ") Tj ET")}
}

// deflated is data in zlib's form, times times.
func deflated(t *testing.T, r io.Reader, times int) []byte {
	t.Helper()
	for range times {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, err := io.Copy(z, r)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		r = &b
	}
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}

func TestPDF(t *testing.T) {
	t.Run("RC56 a PDF is read", func(t *testing.T) {
		p, err := pageOf(t.Context(), sent("application/pdf", document(says("Nurses, beds"), says("and figures"))), 4000)
		require.NoError(t, err)
		assert.Equal(t, Page{URL: "https://example.com/a", Text: "Nurses, beds\n\nand figures"}, p)
	})
	for _, kind := range []string{"text/html; charset=utf-8", "text/plain", "application/octet-stream", "application/x-unknown"} {
		t.Run("a PDF is read whatever its server calls it: "+kind, func(t *testing.T) {
			p, err := pageOf(t.Context(), sent(kind, document(says("Nurses"))), 4000)
			require.NoError(t, err)
			assert.Equal(t, "Nurses", p.Text)
		})
	}
	t.Run("no more pages than are wanted", func(t *testing.T) {
		p, err := pageOf(t.Context(), sent(pdfKind, document(says("0123456789"), says("0123456789"), says("abc"))), 15)
		require.NoError(t, err)
		assert.Equal(t, 15, utf8.RuneCountInString(p.Text))
	})
	t.Run("what stands before a page that cannot be read", func(t *testing.T) {
		file := strings.Replace(document(says("Nurses"), says("x")), "[4 0 R 6 0 R]", "[4 0 R 2 0 R]", 1)
		p, err := pageOf(t.Context(), sent(pdfKind, file), 4000)
		require.NoError(t, err)
		assert.Equal(t, "Nurses", p.Text)
	})
	t.Run("pages without text", func(t *testing.T) {
		_, err := pageOf(t.Context(), sent(pdfKind, document(object{stream: []byte(" ")})), 4000)
		require.ErrorIs(t, err, errNoText)
	})
	t.Run("any number at once", func(t *testing.T) {
		results := make(chan error)
		for range 4 {
			go func() {
				_, err := pdf.Text(t.Context(), []byte(document(says("Nurses"))), 10)
				results <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-results)
		}
	})
}

func TestHostilePDF(t *testing.T) {
	zeros := func(n int64) io.Reader { return io.LimitReader(repeat(" "), n) }
	loop := object{dict: "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 4 0 R >> >>", stream: []byte("/X Do")}
	for name, file := range map[string]string{
		"no PDF":                           "%PDF-1.7\n" + strings.Repeat("nonsense ", 1000),
		"only a beginning":                 document(says("x"))[:100],
		"nested deeply":                    fileOf(object{dict: strings.Repeat("[", 1<<17)}),
		"dictionaries":                     fileOf(object{dict: strings.Repeat("<</A", 1<<18)}),
		"a bomb":                           document(object{dict: "/Filter /FlateDecode", stream: deflated(t, zeros(300<<20), 1)}),
		"a bomb in a bomb":                 document(object{dict: "/Filter [/FlateDecode /FlateDecode]", stream: deflated(t, zeros(300<<20), 2)}),
		"a table of a size that it claims": document(object{dict: "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2000000000 >>", stream: deflated(t, zeros(1000), 1)}),
		"pages in a circle":                fileOf(object{dict: "<< /Type /Catalog /Pages 2 0 R >>"}, object{dict: "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 100000 >>"}),
		"a form in itself": fileOf(object{dict: "<< /Type /Catalog /Pages 2 0 R >>"}, object{dict: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"},
			object{dict: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 4 0 R >> >> >>"}, loop),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pageOf(t.Context(), sent("text/html", file), 4000)
			require.ErrorIs(t, err, providers.Permanent)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	t.Run("one that takes long ends with its time, and the next is read", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("it took too long"))
		defer cancel()
		long := document(object{stream: bytes.Repeat([]byte("BT /F1 12 Tf 50 700 Td (abc) Tj ET\n"), 1<<18)})
		_, err := pdf.Text(ctx, []byte(long), 4000)
		require.EqualError(t, err, "it took too long")
		text, err := pdf.Text(t.Context(), []byte(document(says("Nurses"))), 4000)
		require.NoError(t, err)
		assert.Equal(t, "Nurses", strings.TrimSpace(text))
	})
}

// repeat is a text without end.
type repeat string

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r[i%len(r)]
	}
	return len(p), nil
}
