// Files of the user: chosen, or dropped on the page.
import { button, element } from "./elements.js";
import { words } from "./words.js";

// Returns the elements to choose a file. `read` takes the one that is chosen or dropped on `root`.
export function files(root, read) {
  const input = element("input", { type: "file", hidden: true });
  input.onchange = () => {
    read(input.files[0]);
    // The same file may be chosen again.
    input.value = "";
  };
  root.ondragover = (event) => event.preventDefault();
  root.ondrop = (event) => {
    const [dropped] = event.dataTransfer.files;
    if (dropped) {
      event.preventDefault();
      read(dropped);
    }
  };
  return [button(words.open, () => input.click()), input];
}
