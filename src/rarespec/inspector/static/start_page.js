// The start page: the surveys below the folder of the notebooks, to continue a campaign or to start one.

import * as api from "./api.js";
import { byId, element } from "./text.js";

const POLL = 400;

let list = 0; // number of the list that is shown; a survey is named by its place in it

function show(told) {
  if (told.open) return location.reload();
  list = told.list;
  byId("person").textContent = told.person;
  byId("folder").textContent = told.folder;
  byId("note").textContent = told.note;
  byId("note").hidden = !told.note;
  byId("doing").textContent = told.doing;
  byId("opening").hidden = !told.doing;
  byId("choosing").hidden = Boolean(told.doing);
  byId("look").disabled = Boolean(told.doing);
  byId("nothing").hidden = told.surveys.length > 0;
  showError(told.error);
  if (told.doing) setTimeout(() => attempt(api.start), POLL);
  return undefined;
}

function showList(told) {
  byId("surveys").replaceChildren(...told.surveys.map(surveyItem));
  return show(told);
}

function showError(words) {
  byId("error").textContent = words;
  byId("error").hidden = !words;
}

function surveyItem(survey, place) {
  const size = `${survey.n_spectra.toLocaleString("en")} ${survey.n_spectra === 1 ? "spectrum" : "spectra"}`;
  const words = survey.problem ? "" : size;
  const head = element("div", [element("h3", survey.name), element("span", words, "quiet")], "survey-head");
  if (survey.problem) return element("li", [head, element("p", survey.problem, "no")], "survey");
  const buttons = survey.campaigns.map((campaign, i) => campaignButton(campaign, place, i)).filter(Boolean);
  const waiting = survey.campaigns.filter((campaign) => !campaign.can_continue).map(waitingWords);
  const parts = [head, element("div", buttons, "continuing"), ...waiting, newSearch(place, buttons.length > 0)];
  return element("li", parts, "survey");
}

function campaignButton(campaign, place, number) {
  if (!campaign.can_continue) return null;
  const name = [campaign.kind, countWords(campaign)].filter(Boolean).join(", ");
  const button = element("button", `Continue: ${name}`, "continue");
  button.addEventListener("click", () => choose({ survey: place, campaign: number }));
  return button;
}

function waitingWords(campaign) {
  const kind = campaign.kind ? ` of the kind ${campaign.kind}` : "";
  return element("p", `${countWords(campaign)}${kind}; give known ids to continue.`, "quiet");
}

function countWords({ n_labels: n }) {
  if (n === null) return "number of labels unknown";
  return n === 1 ? "1 label" : `${n.toLocaleString("en")} labels`;
}

/** Fields to start a campaign with; out of the way where one can be continued. */
function newSearch(place, hasCampaign) {
  const known = field("Known ids", "separated by commas", 20000);
  const kind = field(hasCampaign ? "Kind" : "Kind (optional)", "for example carbon", 40);
  const form = element("form", [known.label, kind.label, element("button", "Start")], "new-search");
  known.input.required = true;
  kind.input.required = hasCampaign;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose({ survey: place, known: known.input.value, kind: kind.input.value });
  });
  const details = element("details", [element("summary", "New search"), form]);
  details.open = !hasCampaign;
  return details;
}

function field(name, hint, longest) {
  const input = document.createElement("input");
  Object.assign(input, { placeholder: hint, maxLength: longest, autocomplete: "off" });
  return { input, label: element("label", [`${name} `, input]) };
}

function choose(wanted) {
  return attempt(() => api.choose({ list, ...wanted }));
}

async function attempt(work, showAnswer = show) {
  try {
    await showAnswer(await work());
  } catch (error) {
    showError(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
  }
  document.body.dataset.ready = "true";
}

/** What is on the page may be old: the secret first, then a new list. */
async function open() {
  const told = await api.start();
  return told.open || told.doing ? told : { ...(await api.look()), error: told.error };
}

byId("look").addEventListener("click", () => attempt(api.look, showList));
attempt(open, showList);
