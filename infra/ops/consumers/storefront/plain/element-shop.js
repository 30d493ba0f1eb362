// What the element needs of a shop: tokens, and a way to sign in. Both may be set before element.js has been loaded.
import { signIn, token } from "./session.js";

const drop = document.querySelector("flash-sale");
drop.token = token;
drop.addEventListener("signin", signIn);
drop.addEventListener("change", (event) => (document.title = event.detail.sale?.name ?? document.title));
