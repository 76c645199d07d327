// The way back to the start page, where all surveys are listed; see start_page.js.

import * as api from "./api.js";
import { insist } from "./banner.js";

export async function leaveSurvey(queue) {
  if (queue.entries.length) return insist("Some labels are not saved yet. Wait until they are, then leave.");
  await api.leave();
  location.assign(api.addressOf("/"));
  return undefined;
}

/** Whether this address now shows the start page or other labels, as somebody chose in another tab. */
export async function isElsewhere(home) {
  try {
    return (await api.session()).home !== home;
  } catch (error) {
    return error.status === 404;
  }
}
