// Package qrcode draws QR codes for pages and terminals.
package qrcode

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quiet is the width of the light margin (ISO/IEC 18004 section 6.3.8).
const quiet = 4

// Code is a QR code.
type Code struct {
	dark [][]bool
}

// New returns the code of a text.
func New(text string) (Code, error) {
	drawn, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return Code{}, fmt.Errorf("draw a QR code: %w", err)
	}
	size := drawn.Bounds().Dx()
	code := Code{dark: make([][]bool, size)}
	for y := range size {
		code.dark[y] = make([]bool, size)
		for x := range size {
			code.dark[y][x] = drawn.At(x, y) == color.Black
		}
	}
	return code, nil
}

// Size is the width and height with the margin, in modules.
func (c Code) Size() int { return len(c.dark) + 2*quiet }

func (c Code) isDark(x, y int) bool {
	x, y = x-quiet, y-quiet
	return y >= 0 && y < len(c.dark) && x >= 0 && x < len(c.dark) && c.dark[y][x]
}

// Path is the dark part as the path of an SVG image, with Size as its width and height.
func (c Code) Path() string {
	var path strings.Builder
	for y := range c.Size() {
		for x := range c.Size() {
			if c.isDark(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return path.String()
}

// Blocks is the code for a terminal: two rows of modules in each line, with colors of its own, since terminals are dark or light.
func (c Code) Blocks() string {
	var out strings.Builder
	for y := 0; y < c.Size(); y += 2 {
		out.WriteString("\x1b[38;5;16;48;5;231m")
		for x := range c.Size() {
			switch upper, lower := c.isDark(x, y), c.isDark(x, y+1); {
			case upper && lower:
				out.WriteString("█")
			case upper:
				out.WriteString("▀")
			case lower:
				out.WriteString("▄")
			default:
				out.WriteString(" ")
			}
		}
		out.WriteString("\x1b[0m\n")
	}
	return out.String()
}
