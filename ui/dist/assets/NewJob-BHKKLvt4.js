const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/Editor-vkGEJvpa.js","assets/index-B9rI7OK8.js","assets/index-BWYVwXTE.css","assets/Editor-Rvcaicbw.css"])))=>i.map(i=>d[i]);
import{U as b,g as e,W as d,V as _e,a3 as be,a4 as Ie,a as ke,D as q,x as K,s as o,b as i,L as ge,j as c,e as oe,t as F,h as g,o as $,p as we,B as se,y as ee,u as S,H as Ae,k as m,E as Ee,aa as Te,v as ne,ab as Se,a5 as xe,Z as Ve,ac as $e,T as ye,ad as Ce,ae as Oe,a1 as fe,a2 as je,$ as pe,Y as Ne,af as Re,ag as De}from"./index-B9rI7OK8.js";import{P as Ke}from"./PageHead-BcpmbhC4.js";import{c as Q,a as Pe}from"./number-BN7CH9Pw.js";import{C as Je}from"./CopyAs-Byj8RizB.js";import{P as me}from"./Panel-57HrtqtE.js";const Me=250;class Ue{#a=b([]);get problems(){return e(this.#a)}set problems(a){d(this.#a,a)}#r=b();get valid(){return e(this.#r)}set valid(a){d(this.#r,a)}#s=b(!1);get isValid(){return e(this.#s)}set isValid(a){d(this.#s,a,!0)}#o=b(!1);get checking(){return e(this.#o)}set checking(a){d(this.#o,a,!0)}#n=b();get error(){return e(this.#n)}set error(a){d(this.#n,a)}#i=b(0);get checkedAt(){return e(this.#i)}set checkedAt(a){d(this.#i,a,!0)}#e;#t=0;check(a){clearTimeout(this.#t),this.#e?.abort(),this.isValid=!1,this.checking=!0,this.#t=window.setTimeout(()=>void this.#d(a),Me)}async#d(a){const r=this.#e=new AbortController;try{const s=await _e("post","/api/v1/check",{json:{file:a},signal:r.signal,timeoutMs:6e4});if(r.signal.aborted)return;this.#l([],void 0),this.valid=s,this.isValid=!0}catch(s){if(r.signal.aborted)return;const p=be(s),u=p instanceof Ie?p.problem.problems??[]:[];this.#l(u,u.length>0?void 0:p)}}#l(a,r){this.problems=a,this.error=r,this.checking=!1,this.checkedAt=Date.now()}stop(){clearTimeout(this.#t),this.#e?.abort()}}const he=[{id:"capitals",title:"Experiment",text:`# Asks a model for capitals. Start the mock model first: windrow mock model
# Import the rows: windrow datasets import examples/capitals/capitals.jsonl
kind: experiment
name: capitals
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
concurrency: 32
`},{id:"gate",title:"Experiment with quality gates",text:`kind: experiment
name: capitals-gate
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
trials: 3
gates:
  - exact.mean >= 0.9
  - errors < 1%
  - latency.p90 < 2s
concurrency: 32
`},{id:"operation",title:"Operation in waves",text:`# Start the mock Kafka Connect first: windrow mock connect --connectors 200
kind: operation
name: bulk-config
targets: { select: "orders-*" }
action:
  kafka-connect:
    url: http://127.0.0.1:8083/east
    do: change_config
    set: { tasks.max: "2" }
strategy:
  canary: 5
  wave: 25
  approval: after_first
  max_failed: 10
  on_failure: rollback
concurrency: 32
`},{id:"ingest",title:"Ingest from an API",text:`# Start the mock API first: windrow mock source
kind: ingest
name: ingest-orders
source:
  rest:
    url: http://127.0.0.1:8098/records
    records: $.records
    pagination: { token: { param: page_token, next: $.next } }
    incremental: { param: since, field: id }
key: id
destination:
  sqlite: { path: orders.db }
`}];function Ye(y){return`kind: experiment
name: ${y}-experiment
dataset: { name: ${y} }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "{{  }}"
evaluators:
  - exact: { expect: "{{  }}" }
`}var qe=m('<tr><th scope="row" class="mono"> </th><td class="mono"> </td></tr>'),Fe=m('<table class="table"><thead><tr><th scope="col">Target</th><th scope="col">Change</th></tr></thead><tbody></tbody></table> <p class="small muted svelte-94y4bu"> </p>',1),Le=m("<!> <!>",1);function Be(y,a){ke(a,!0);let r=b(void 0),s=b(void 0),p=b(!1);async function u(){d(p,!0);try{d(r,await _e("post","/api/v1/plan",{json:{file:a.text,limit:20},timeoutMs:12e4})),d(s,void 0)}catch(j){d(s,be(j))}finally{d(p,!1)}}{const j=k=>{{let C=S(()=>Ae.lacks("operator"));se(k,{size:"small",get sending(){return e(p)},get off(){return e(C)},onclick:u,children:(P,O)=>{var N=ee();F(()=>g(N,e(r)?"Plan again":"Preview the changes")),i(P,N)},$$slots:{default:!0}})}};let V=S(()=>e(r)?`${Q(e(r).changed)} to change, ${Q(e(r).done)} up to date, ${Q(e(r).refused)} invalid`:"nothing is changed");me(y,{title:"Plan",get note(){return e(V)},action:j,children:(k,C)=>{var P=Le(),O=q(P);{var N=n=>{ge(n,{get error(){return e(s)}})};K(O,n=>{e(s)&&n(N)})}var Z=o(O,2);{var L=n=>{var A=Fe(),B=q(A),E=o(c(B));oe(E,21,()=>e(r).targets,_=>_.target,(_,l)=>{var I=qe(),T=c(I),J=$(T,!0),W=o(T),z=$(W,!0);F(M=>{g(J,e(l).target),g(z,M)},[()=>e(l).error??(e(l).done?"up to date":e(l).changes.join("; "))]),i(_,I)});var H=o(B,2),v=$(H);F((_,l)=>g(v,`${_??""}Waves: ${l??""}`),[()=>e(r).targets.length<e(r).total?`${e(r).targets.length} of ${Q(e(r).total)} targets. `:"",()=>e(r).waves.join(", ")]),i(n,A)};K(Z,n=>{e(r)&&n(L)})}i(k,P)},$$slots:{action:!0,default:!0}})}we()}var He=m('<div class="warning svelte-1djw1jv"><!></div>'),We=m('<dl class="svelte-1djw1jv"><dt class="svelte-1djw1jv">Job</dt><dd><b class="svelte-1djw1jv"> </b></dd> <dt class="svelte-1djw1jv">Kind</dt><dd> </dd> <dt class="svelte-1djw1jv"> </dt><dd class="metric svelte-1djw1jv"> </dd></dl> <!>',1),ze=m('<p class="none muted svelte-1djw1jv">A valid file shows here how many items it has.</p>'),Xe=m('<li class="svelte-1djw1jv"><!><div><b class="svelte-1djw1jv"> </b><p class="small muted"> </p></div></li>'),Ze=m("<ol></ol>"),Ge=m('<!> <!> <!> <div class="foot small svelte-1djw1jv"><span class="muted"><!></span> <!></div>',1);function Qe(y,a){ke(a,!0);const r=S(()=>a.checker.valid),s={operation:"targets",ingest:"slices"};var p=Ge(),u=q(p);{let n=S(()=>e(r)&&!a.checker.isValid?"of the last valid file":void 0);me(u,{title:"Preview",get note(){return e(n)},children:(A,B)=>{var E=Ee(),H=q(E);{var v=l=>{var I=We(),T=q(I),J=o(c(T)),W=c(J),z=$(W,!0),M=o(J,3),ie=$(M,!0),te=o(M,2),le=$(te,!0),de=o(te),ae=$(de,!0),ce=o(T,2);oe(ce,16,()=>e(r).warnings,U=>U,(U,ve)=>{var re=He(),t=c(re);Te(t,{tone:"warn",children:(h,Y)=>{var f=ee();F(()=>g(f,ve)),i(h,f)},$$slots:{default:!0}}),i(U,re)}),F(U=>{g(z,e(r).job),g(ie,e(r).kind),g(le,s[e(r).kind]?s[e(r).kind]:"Items"),g(ae,U)},[()=>Q(e(r).items)]),i(l,I)},_=l=>{var I=ze();i(l,I)};K(H,l=>{e(r)?l(v):l(_,-1)})}i(A,E)},$$slots:{default:!0}})}var j=o(u,2);{var V=n=>{me(n,{title:"Errors",get badge(){return a.checker.problems.length},children:(A,B)=>{var E=Ze();oe(E,21,()=>a.checker.problems,Se,(H,v)=>{var _=Xe(),l=c(_);{let M=S(()=>e(v).line?`${e(v).file&&e(v).file!=="job"?`${e(v).file}, `:""}line ${e(v).line}`:"file");ne(l,{status:"failed",get word(){return e(M)}})}var I=o(l),T=c(I),J=$(T,!0),W=o(T),z=$(W,!0);F(()=>{g(J,e(v).message),g(z,e(v).remedy)}),i(H,_)}),i(A,E)},$$slots:{default:!0}})};K(j,n=>{a.checker.problems.length>0&&n(V)})}var k=o(j,2);{var C=n=>{Be(n,{get text(){return a.text}})};K(k,n=>{e(r)?.kind==="operation"&&a.checker.isValid&&n(C)})}var P=o(k,2),O=c(P),N=c(O);{var Z=n=>{{let A=S(()=>a.checker.problems.length>0?"failed":"pending");ne(n,{get status(){return e(A)},get word(){return a.off}})}};K(N,n=>{a.off&&n(Z)})}var L=o(O,2);{let n=S(()=>e(r)?.job??"job");Je(L,{get cli(){return`windrow run ${e(n)??""}.yaml --server ${location.origin??""}`}})}i(y,p),we()}async function et(y,a){const r={"Idempotency-Key":`ui-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`},s=await _e("post","/api/v1/jobs",{json:{file:y,...a?{first:a}:{}},headers:r,timeoutMs:12e4});for(const p of s.warnings)xe.say(p);return xe.say(a?`${s.name}: running the first ${a} rows`:`${s.name} started`),{href:`/jobs/${encodeURIComponent(s.job)}`}}var tt=m("<option> </option>"),at=m('<select aria-label="Start from an example" class="svelte-1gr9uvi"><option disabled="">from an example</option><!></select>'),rt=m("<!> <!> <!>",1),st=m('<button type="button" title="F8: next error" class="svelte-1gr9uvi"><!></button>'),ot=m('<!> <input class="hidden" type="file" accept=".yaml,.yml,.json" aria-label="Job file" tabindex="-1"/> <div class="columns svelte-1gr9uvi"><div class="file svelte-1gr9uvi"><div class="bar svelte-1gr9uvi"><b class="mono"> </b> <span class="small muted" role="status"> </span> <span class="state svelte-1gr9uvi" role="status"><!></span></div> <div class="editor svelte-1gr9uvi"><!></div></div> <div class="side svelte-1gr9uvi"><!> <!> <!></div></div>',1);function vt(y,a){ke(a,!0);const r="windrow.draft",s=new Ue;function p(){const t=pe.param("dataset");return t?Ye(t):he.find(h=>h.id===pe.param("example"))?.text??sessionStorage.getItem(r)??""}let u=b(Ve($e(()=>p()))),j=b(void 0),V=b(!1),k=b(void 0),C;ye(()=>{const t=e(u);$e(()=>t.trim()?s.check(t):s.stop())}),ye(()=>()=>s.stop());const P=S(()=>Ae.lacks("operator")??(e(u).trim()?s.problems.length>0?`Off until ${Pe(s.problems.length,"error")} ${s.problems.length===1?"is":"are"} corrected`:s.isValid?void 0:"The file is being checked":"The file is empty"));function O(t){d(u,t,!0),d(k,void 0),sessionStorage.setItem(r,t)}function N(t){e(j)?e(j).setText(t):O(t)}async function Z(t){t&&N(await t.text())}async function L(t){if(!(e(P)||e(V))){d(V,!0),d(k,void 0);try{const h=await et(e(u),t);sessionStorage.removeItem(r),pe.go(h.href)}catch(h){d(k,be(h))}finally{d(V,!1)}}}function n(t){t.preventDefault(),Z(t.dataTransfer?.files[0])}var A=ot(),B=q(A);Ke(B,{title:"New job",up:{href:"/jobs",title:"Jobs"},beside:Y=>{var f=at(),R=c(f);R.value=R.__value="";var G=o(R);oe(G,17,()=>he,w=>w.id,(w,x)=>{var D=tt(),X=$(D,!0),ue={};F(()=>{g(X,e(x).title),ue!==(ue=e(x).id)&&(D.value=(D.__value=ue)??"")}),i(w,D)}),f.value=f.__value="",fe("change",f,w=>(N(he.find(x=>x.id===w.currentTarget.value)?.text??e(u)),w.currentTarget.value="")),i(Y,f)},actions:Y=>{var f=rt(),R=q(f);se(R,{icon:"upload",onclick:()=>C.click(),children:(x,D)=>{var X=ee("Open file");i(x,X)},$$slots:{default:!0}});var G=o(R,2);se(G,{icon:"play",get off(){return e(P)},get sending(){return e(V)},title:"Runs the first 3 rows; a later full run reuses their results",onclick:()=>L(3),children:(x,D)=>{var X=ee("Run 3 rows");i(x,X)},$$slots:{default:!0}});var w=o(G,2);se(w,{kind:"ink",icon:"play",get off(){return e(P)},get sending(){return e(V)},title:"Ctrl Enter",onclick:()=>L(),children:(x,D)=>{var X=ee("Run");i(x,X)},$$slots:{default:!0}}),i(Y,f)},$$slots:{beside:!0,actions:!0}});var E=o(B,2);Ce(E,t=>C=t,()=>C);var H=o(E,2),v=c(H),_=c(v),l=c(_),I=$(l),T=o(l,2),J=$(T,!0),W=o(T,2),z=c(W);{var M=t=>{var h=st(),Y=c(h);{let f=S(()=>Pe(s.problems.length,"error"));ne(Y,{status:"failed",get word(){return e(f)}})}fe("click",h,()=>e(j)?.next()),i(t,h)},ie=t=>{ne(t,{status:"success",word:"valid"})};K(z,t=>{s.problems.length>0?t(M):s.isValid&&t(ie,1)})}var te=o(_,2),le=c(te);Oe(le,()=>De(()=>import("./Editor-vkGEJvpa.js"),__vite__mapDeps([0,1,2,3])),null,(t,h)=>{var Y=S(()=>{var{default:w}=e(h);return{Editor:w}}),f=S(()=>e(Y).Editor),R=Ee(),G=q(R);Re(G,()=>e(f),(w,x)=>{x(w,{get text(){return e(u)},get problems(){return s.problems},onchange:O,onrun:()=>L(),onready:D=>d(j,D)})}),i(t,R)});var de=o(v,2),ae=c(de);{var ce=t=>{ge(t,{get error(){return e(k)}})};K(ae,t=>{e(k)&&t(ce)})}var U=o(ae,2);{var ve=t=>{ge(t,{get error(){return s.error}})};K(U,t=>{s.error&&t(ve)})}var re=o(U,2);Qe(re,{get checker(){return s},get text(){return e(u)},get off(){return e(P)}}),F(()=>{g(I,`${s.valid?.job??"job"??""}.yaml`),g(J,s.checking?"checking…":s.checkedAt?"checked as you type":"drop a job file here, or type")}),fe("change",E,()=>Z(C.files?.[0])),je("dragover",v,t=>t.preventDefault()),je("drop",v,n),i(y,A),we()}Ne(["change","click"]);export{vt as default};
