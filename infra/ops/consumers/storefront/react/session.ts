// How this shop's pages get a token: its own server gives one to who is signed in.
export async function token(): Promise<string | null> {
  const answer = await fetch("/token", { cache: "no-store" });
  if (answer.status === 401) return null;
  if (!answer.ok) throw new Error("no answer");
  return answer.text();
}

export const signIn = () => location.assign("/signin?back=" + encodeURIComponent(location.pathname + location.search));
