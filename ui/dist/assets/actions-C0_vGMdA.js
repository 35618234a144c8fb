import{aB as e,O as f}from"./index-BA1C1o4s.js";function s(r,t,o){e(()=>{var a=f(()=>t(r,o?.())||{});if(a?.destroy)return()=>a.destroy()})}export{s as a};
