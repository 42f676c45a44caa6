package forms

import (
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"
)

// fileSuffix is that of the name of the file from which the text of a field may come.
const fileSuffix = ".file"

// notText is the text of a binary file. It is not valid, as its field then says.
const notText = string(utf8.RuneError)

// ReadFiles replaces the texts of fields by those of the files that were chosen for them. r must have been parsed.
func ReadFiles(r *http.Request) error {
	if r.MultipartForm == nil {
		return nil
	}
	for name, files := range r.MultipartForm.File {
		field, isText := strings.CutSuffix(name, fileSuffix)
		if !isText || files[0].Size == 0 { // browsers send an empty file if none was chosen
			continue
		}
		text, err := readText(files[0])
		if err != nil {
			return err
		}
		r.PostForm.Set(field, text)
	}
	return nil
}

func readText(header *multipart.FileHeader) (string, error) {
	file, err := header.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if !utf8.Valid(data) {
		return notText, err
	}
	return string(data), err
}
