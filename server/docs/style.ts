/** The bar at the top of every page. Scalar's colors follow the reader's choice on its page. */
export const barStyle = `
.bar { position: sticky; top: 0; z-index: 20; box-sizing: border-box; height: 48px; display: flex; align-items: center; gap: 1.25rem; padding: 0 1.25rem; overflow-x: auto; white-space: nowrap; font: 15px/1 system-ui, sans-serif; background: var(--scalar-background-1, var(--back)); border-bottom: 1px solid var(--scalar-border-color, var(--line)) }
.bar a { color: var(--scalar-color-1, var(--text)); text-decoration: none; padding: .75rem 0 } .bar a:hover { text-decoration: underline }
.bar .last { margin-left: auto }
`

/** The style of the pages without scripts. */
export const style = `${barStyle}
:root { color-scheme: light dark; --line: #d5d9e0; --soft: #f4f5f8; --text: #1b1f27; --back: #fff; --accent: #2f5bea; }
@media (prefers-color-scheme: dark) { :root { --line: #343a46; --soft: #1d2129; --text: #e4e7ee; --back: #14171c; --accent: #86a5ff; } }
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.55 system-ui, sans-serif }
.page { display: flex }
nav { flex: 0 0 17rem; height: calc(100vh - 48px); position: sticky; top: 48px; overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); background: var(--soft) }
nav p { margin: 1rem 0 .25rem; font-weight: 600 } nav ul { list-style: none; margin: 0; padding: 0 } nav li { padding: .15rem 0 }
a { color: var(--accent); text-decoration: none } a:hover { text-decoration: underline }
main { flex: 1; min-width: 0; max-width: 60rem; padding: 1.5rem 2.5rem 6rem } main.single { margin: 3rem auto }
h1 { font-size: 2rem; margin: .5rem 0 } h2 { margin: 3rem 0 1rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
h3 { margin: 2.5rem 0 .5rem; font-size: 1.1rem } h4 { margin: 1.2rem 0 .4rem }
section, [id] { scroll-margin-top: 64px }
code { font: .9em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: .25em } pre code, h3 code { background: none; padding: 0 }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem; overflow: auto }
.method { display: inline-block; font: 700 .75rem ui-monospace, monospace; padding: .2rem .5rem; border-radius: .3rem; background: #2f5bea; color: #fff }
.method.post { background: #1c7c45 } .method.patch { background: #9a5b00 } .method.delete { background: #b3261e }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .4rem .7rem .4rem 0; border-bottom: 1px solid var(--line) }
td:first-child { white-space: nowrap } dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem } dd { margin: 0 }
.guide img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px } nav a[aria-current] { font-weight: 600; color: var(--text) } .guide td:first-child { white-space: normal; min-width: 9rem } dl.intros { display: block } .intros dd { margin: 0 0 .8rem }
details { margin: .6rem 0 } summary { cursor: pointer }
h3 code, td code { overflow-wrap: anywhere }
@media (max-width: 50rem) {
.page { display: flex; flex-direction: column } nav { position: static; flex: none; height: auto; border-right: 0; border-bottom: 1px solid var(--line) } main, main.single { margin: 0; padding: 1rem; max-width: 100% }
/* The page of a guide is what the reader came for. */
nav.guides { order: 1; border: 0 } td:first-child { white-space: normal; min-width: 9rem } dl { display: block }
}
`
