const most = 256 * 1024; // bytes that the service accepts

// readFile reads the file that was chosen into the text area of its field, which has it when the form is sent again. It returns why it
// was not read.
export async function readFile(input) {
  const [file] = input.files;
  if (!file) return "";
  input.value = "";
  if (file.size > most) return "The file must be at most 256 KiB.";
  const field = () => document.getElementById(input.id.replace(/-file$/, "")); // the form may be replaced
  try {
    field().value = await file.text();
  } catch {
    return "The file cannot be read.";
  }
  field().focus();
  return "";
}
