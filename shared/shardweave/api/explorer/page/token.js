/** The form that takes a token: at the top of the page, and in a record's dialog, whose edits outlive an old token. */

import { html } from "./lit-html/lit-html.js";
import { hasToken } from "./api.js";

export function tokenForm(use) {
  const submit = (event) => {
    event.preventDefault();
    const field = event.target.elements.token;
    const text = field.value;
    field.value = "";
    use(text);
  };
  return html`<form class="token" @submit=${submit}>
    <label>Token
      <input name="token" type="password" autocomplete="off" placeholder=${hasToken() ? "in use" : "none"} />
    </label>
    <button type="submit">Use</button>
  </form>`;
}
