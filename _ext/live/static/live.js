// Make the cells of a page editable, and run them on Pyodide in a worker. Nothing is fetched before the reader asks.
(() => {
  const bar = document.querySelector(".live[data-pyodide]")
  const [first, status] = [bar.querySelector("button"), bar.querySelector("[role=status]")]
  const files = new URL("inside_transformer.js", document.currentScript.src)
  const pyodide = new URL(bar.dataset.pyodide, new URL("..", document.currentScript.src))
  let worker, cells
  let waiting = []  // for the answers of the worker, which come in order

  // The worker: it is made from this text, since browsers load none from a page that lies on a disk.
  function python() {
    let ready  // becomes the function that runs a cell
    async function start(address, files) {
      importScripts(address + "pyodide.js")
      const pyodide = await loadPyodide({indexURL: address})
      postMessage({step: "Fetching NumPy and matplotlib …"})
      await pyodide.loadPackage(["numpy", "matplotlib"])
      for (const [name, text] of Object.entries(files)) {
        const path = `/home/pyodide/${name}`  // where Python starts
        pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")))
        pyodide.FS.writeFile(path, text)
      }
      return pyodide.pyimport("run_cell").run_cell
    }
    onmessage = async ({data: {address, files, source}}) => {
      try {
        ready ??= start(address, files)
        const runCell = await ready
        postMessage(source === undefined ? {} : JSON.parse(runCell(source)))
      } catch (error) {
        postMessage({error: String(error).trim().split("\n").pop()})
      }
    }
  }

  const say = text => { status.textContent = text }

  const ask = message => new Promise(resolve => {
    waiting.push(resolve)
    worker.postMessage(message)
  })

  const load = address => new Promise((resolve, reject) => {
    const script = document.createElement("script")
    Object.assign(script, {src: address, onload: resolve, onerror: () => reject(`no ${address}`)})
    document.head.append(script)
  })

  const button = (text, onclick, ariaLabel = text) =>
    Object.assign(document.createElement("button"), {type: "button", textContent: text, onclick, ariaLabel})

  // Start Python, and say why not where it does not start.
  async function start() {
    worker?.terminate()
    waiting = []
    first.ariaDisabled = "true"  // and not disabled, which would take the focus away
    say("Fetching Python …")
    try {
      if (typeof INSIDE_TRANSFORMER == "undefined") await load(files)
      worker = new Worker(URL.createObjectURL(new Blob([`(${python})()`], {type: "text/javascript"})))
      worker.onmessage = ({data}) => data.step ? say(data.step) : waiting.shift()(data)
      const {error} = await ask({address: pyodide.href, files: INSIDE_TRANSFORMER})
      if (error) throw error
      return true
    } catch (error) {
      say(`Python could not be fetched from ${pyodide.host || "this disk"}. Is there a network, and may this page ` +
          `use it? The page reads as before, and you may try again. (${error})`)
    } finally {
      first.ariaDisabled = null
    }
  }

  async function begin() {
    if (!("WebAssembly" in window)) return say("This browser is too old to run Python. The page reads as before.")
    if (first.ariaDisabled || !await start()) return
    cells = [...document.querySelectorAll("div.cell.container")].map(edit)
    Object.assign(first, {textContent: "Run all", onclick: () => run(cells)})
    first.nextElementSibling.replaceWith(button("Restart Python", restart))
    run(cells)
  }

  async function restart() {
    for (const {element} of cells) element.ariaBusy = null
    if (await start()) say("Python has started anew and knows nothing yet: run all.")
  }

  // Make a cell editable, with its buttons below its code.
  function edit(element, i) {
    const shown = element.querySelector(".cell_input .highlight")
    const code = document.createElement("textarea")
    const fit = () => { code.rows = code.value.split("\n").length }
    const change = () => {
      fit()
      onbeforeunload = event => event.preventDefault()  // the browser asks before what was written is gone
    }
    const exercise = element.closest("section").querySelector(":scope > h3")?.firstChild.textContent
    const cell = {element, code, number: i + 1, name: `cell ${i + 1}${exercise ? `, ${exercise}` : ""}`}
    Object.assign(code, {
      value: shown.querySelector("pre").textContent.trimEnd(), ariaLabel: `Code of ${cell.name}`,
      spellcheck: false, autocapitalize: "off", wrap: "off", oninput: change})
    fit()
    code.onkeydown = event => {
      if (event.key != "Enter" || event.isComposing) return
      event.preventDefault()
      if (event.shiftKey || event.ctrlKey || event.metaKey) return run([cell])
      const line = code.value.slice(0, code.selectionStart).split("\n").pop()
      const indent = line.match(/^ */)[0] + (line.endsWith(":") ? "    " : "")
      document.execCommand("insertText", false, "\n" + indent)  // nothing else can be undone
    }
    const row = document.createElement("div")
    row.className = "live-run"
    row.append(`Cell ${cell.number} `, button("Run", () => run([cell]), `Run cell ${cell.number}`),
               button("Run from here", () => run(cells.slice(i)), `Run from here, cell ${cell.number} and those below`))
    shown.replaceChildren(code, row)
    return cell
  }

  // Run cells in order, up to the first that fails.
  async function run(list) {
    let text
    say("Running …")
    for (const cell of list) {
      cell.element.ariaBusy = "true"
      const answer = await ask({source: cell.code.value})
      cell.element.ariaBusy = null
      if (answer.error) return say(answer.error)
      show(cell, answer)
      text = answer.text.trim()
      if (answer.failed) {
        open(cell)
        cell.element.scrollIntoView({block: "nearest"})
        return say(`Cell ${cell.number} stops: ${answer.failed}`)
      }
    }
    if (list.length > 1) return say(`Ran ${list.length} cells. Change one and press Shift and Enter, or Run from here.`)
    open(list[0])
    say(`Cell ${list[0].number} has run. ${text.length > 200 ? text.slice(0, 200) + " …" : text}`)
  }

  // Unfold the output of a cell.
  function open({element}) {
    element.querySelectorAll("details:has(> .cell_output)").forEach(fold => { fold.open = true })
  }

  function show({element, name}, {text, html}) {
    let output = element.querySelector(".cell_output")
    if (!output) {
      output = Object.assign(document.createElement("div"), {className: "cell_output docutils container"})
      element.append(output)
    }
    Object.assign(output, {role: "group", ariaLabel: `Output of ${name}`})
    output.innerHTML = (text ? '<div class="output stream"><div class="highlight"><pre></pre></div></div>' : "") +
                       (html ? `<div class="output text_html">${html}</div>` : "")
    if (!text) return
    const printed = output.querySelector("pre")
    printed.textContent = text
    if (printed.scrollWidth > printed.clientWidth || printed.scrollHeight > printed.clientHeight)
      printed.tabIndex = 0  // the keyboard scrolls it
  }

  first.onclick = begin
})()
