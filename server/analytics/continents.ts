/** ISO 3166-1 country codes by continent. The continent codes are those of existing clients: AZ is Oceania. */
const countries = {
  AF: 'AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW',
  AN: 'AQ BV GS HM TF',
  AS: 'AE AF AM AZ BD BH BN BT CC CN CX CY GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE',
  AZ: 'AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS',
  EU: 'AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK',
  NA: 'AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT US VC VG VI',
  SA: 'AR BO BR CL CO EC FK GF GY PE PY SR UY VE',
} as const

type Continent = keyof typeof countries

const byCountry = new Map<string, Continent>()
for (const [continent, list] of Object.entries(countries))
  for (const country of list.split(' ')) byCountry.set(country, continent as Continent)

export type Place = { country: string | null; continent: Continent | null }

/** Reads the country header of a proxy. Codes for "unknown" and for anonymizing networks are not countries. */
export function placeOf(header: string | string[] | undefined): Place {
  const country = [header].flat()[0]?.trim().toUpperCase() ?? ''
  const continent = byCountry.get(country)
  return continent ? { country, continent } : { country: null, continent: null }
}
