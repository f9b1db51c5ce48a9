package openai

import (
	"encoding/base64"
	"strings"

	"github.com/convene-go/convene/providers"
)

func chatText(text string) any {
	return struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text}
}

type link struct {
	URL string `json:"url"`
}

type chatFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

func chatParts(parts []providers.Part) []any {
	var out []any
	for _, p := range parts {
		switch {
		case p.Kind == providers.TextPart:
			out = append(out, chatText(p.Text))
		case p.Kind == providers.ImagePart:
			out = append(out, struct {
				Type  string `json:"type"`
				Image link   `json:"image_url"`
			}{"image_url", link{dataURL(p)}})
		case p.Media == "text/plain" && p.URL == "":
			out = append(out, chatText(named(p)+string(p.Data)))
		default:
			out = append(out, struct {
				Type string   `json:"type"`
				File chatFile `json:"file"`
			}{"file", chatFile{nameOf(p), dataURL(p)}})
		}
	}
	return out
}

// dataURL returns the address of a part: its URL, or a data URL with its bytes.
func dataURL(p providers.Part) string {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.Media + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

func nameOf(p providers.Part) string {
	if p.Name != "" {
		return p.Name
	}
	return "document.pdf"
}

// named is the headline of a text that is a document.
func named(p providers.Part) string {
	if p.Name == "" {
		return ""
	}
	return strings.Join(strings.Fields(p.Name), " ") + ":\n"
}
